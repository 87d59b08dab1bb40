#include "tools/influence/queries.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/text_file.h"
#include "data/image_files.h"
#include "data/image_list.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

absl::StatusOr<InfluenceQuery> NumberedQuery(absl::string_view text,
                                             bool of_training_set,
                                             const Dataset& set) {
  InfluenceQuery query;
  query.of_training_set = of_training_set;
  if (IsNumber(text) && absl::SimpleAtoi(text, &query.number) &&
      query.number < set.size()) {
    return query;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no example \"", text, "\" in the ",
                   of_training_set ? "training" : "test",
                   " set; examples are numbered from 0 to ", set.size() - 1));
}

absl::StatusOr<int32_t> LabelOf(const std::string& file,
                                const std::string& label,
                                const std::vector<std::string>& class_names) {
  const auto found = std::find(class_names.begin(), class_names.end(), label);
  if (found != class_names.end()) {
    return static_cast<int32_t>(found - class_names.begin());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      label.empty() ? absl::StrCat("nobody knows the class of ", file)
                    : absl::StrCat("--label is \"", label, "\""),
      "; --label must be one of ", absl::StrJoin(class_names, ", ")));
}

}  // namespace

absl::StatusOr<std::vector<InfluenceQuery>> ParseQueries(
    const QueryFlags& flags, const DatasetPair& data,
    const std::vector<std::string>& class_names) {
  const bool training = flags.split == "train";
  const Dataset& set = training ? *data.train : *data.test;
  std::vector<InfluenceQuery> queries;
  for (const std::string& text : flags.queries) {
    if (IsNumber(text)) {
      PS_ASSIGN_OR_RETURN(queries.emplace_back(),
                          NumberedQuery(text, training, set));
    } else if (HasImageName(text)) {
      InfluenceQuery query;
      query.file = text;
      PS_ASSIGN_OR_RETURN(query.label, LabelOf(text, flags.label, class_names));
      queries.push_back(query);
    } else {
      PS_ASSIGN_OR_RETURN(const std::string lines, ReadText(text));
      const size_t before = queries.size();
      for (const absl::string_view line :
           absl::StrSplit(lines, absl::ByAnyChar("\r\n"), absl::SkipEmpty())) {
        const auto query = NumberedQuery(line, training, set);
        if (!query.ok()) return Annotate(query.status(), text);
        queries.push_back(*query);
      }
      if (queries.size() == before) {
        return absl::InvalidArgumentError(
            absl::StrCat(text, " names no example"));
      }
    }
  }
  return queries;
}

std::string QueryName(const InfluenceQuery& query, const DatasetPair& data) {
  if (!query.file.empty()) return query.file;
  const Dataset& set = query.of_training_set ? *data.train : *data.test;
  return set.example_name(query.number);
}

absl::StatusOr<Batch> ReadQueries(const std::vector<InfluenceQuery>& queries,
                                  const DatasetPair& data,
                                  const std::string& data_name) {
  const ImageConverter* const converter = data.test->converter();
  Batch all, one;
  for (const InfluenceQuery& query : queries) {
    if (query.file.empty()) {
      const Dataset& set = query.of_training_set ? *data.train : *data.test;
      PS_RETURN_IF_ERROR(set.Read({query.number}, /*epoch=*/0, &one));
    } else if (converter == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("files cannot become images of data.name \"", data_name,
                       "\"; name examples by number"));
    } else {
      PS_RETURN_IF_ERROR(NewImageFiles({query.file}, data.test->example_shape(),
                                       converter, data.test->class_names())
                             ->Read({0}, /*epoch=*/0, &one));
      one.labels = {query.label};
    }
    all.inputs.insert(all.inputs.end(), one.inputs.begin(), one.inputs.end());
    all.labels.push_back(one.labels[0]);
  }
  return all;
}

Json QueryJson(const InfluenceQuery& query) {
  return {{"file", query.file},
          {"of_training_set", query.of_training_set},
          {"number", query.number},
          {"label", query.label}};
}

InfluenceQuery QueryFromJson(const Json& json) {
  InfluenceQuery query;
  query.file = json.at("file");
  query.of_training_set = json.at("of_training_set");
  query.number = json.at("number");
  query.label = json.at("label");
  return query;
}

}  // namespace ps
