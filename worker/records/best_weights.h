// Reads and describes best.safetensors, the weights of a run's best evaluation.
#ifndef WORKER_RECORDS_BEST_WEIGHTS_H_
#define WORKER_RECORDS_BEST_WEIGHTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/metric.h"
#include "formats/safetensors.h"
#include "worker/records/evaluation.h"

namespace ps {

constexpr char kBestWeights[] = "best.safetensors";

struct BestEvaluation {
  int64_t iteration = 0;  // The number of iterations done.
  Metric metric;          // The most important metric.
};

// Returns the metadata of best.safetensors, besides the model: "iteration" and
// "test_METRIC".
SafetensorsMetadata MetadataOf(const BestEvaluation& best);

// Returns the evaluation of the file's weights; nullopt if there is no such
// file, or if it cannot be read, which is logged: then the next evaluation is
// the best.
std::optional<BestEvaluation> ReadBestEvaluation(const std::string& path,
                                                 Task task);

}  // namespace ps

#endif  // WORKER_RECORDS_BEST_WEIGHTS_H_
