// The examples whose predictions are explained.
#ifndef TOOLS_INFLUENCE_QUERIES_H_
#define TOOLS_INFLUENCE_QUERIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "data/dataset.h"
#include "nlohmann/json_fwd.hpp"

namespace ps {

struct InfluenceQuery {
  std::string file;  // An image; empty: an example of the data.
  bool of_training_set = false;
  int64_t number = 0;  // In its set, from 0.
  int32_t label = 0;   // Of a file.
};

// How the command line names queries.
struct QueryFlags {
  std::vector<std::string> queries;  // --query
  std::string split = "test";        // --query-split
  std::string label;                 // --label
};

// A query is a number in the split's set; a .jpg, .jpeg or .png file, whose
// class is flags.label; or another file, with a number on each line. Errors:
// kInvalidArgument for anything else; those of reading the file.
absl::StatusOr<std::vector<InfluenceQuery>> ParseQueries(
    const QueryFlags& flags, const DatasetPair& data,
    const std::vector<std::string>& class_names);

// What people know the query by: its number or file.
std::string QueryName(const InfluenceQuery& query, const DatasetPair& data);

// Reads all queries, in order. data_name: data.name. Errors: those of
// Dataset::Read; kInvalidArgument if files cannot become images of this data.
absl::StatusOr<Batch> ReadQueries(const std::vector<InfluenceQuery>& queries,
                                  const DatasetPair& data,
                                  const std::string& data_name);

nlohmann::ordered_json QueryJson(const InfluenceQuery& query);
InfluenceQuery QueryFromJson(const nlohmann::ordered_json& json);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_QUERIES_H_
