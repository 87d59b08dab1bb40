#include "worker/records/best_weights.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"

namespace ps {
namespace {

std::string NameOf(const Metric& metric) {
  return absl::StrCat("test_", metric.name);
}

}  // namespace

SafetensorsMetadata MetadataOf(const BestEvaluation& best) {
  // All digits are written, because later evaluations are compared with it.
  return {{"iteration", absl::StrCat(best.iteration)},
          {NameOf(best.metric), absl::StrFormat("%.17g", best.metric.value)}};
}

std::optional<BestEvaluation> ReadBestEvaluation(const std::string& path,
                                                 Task task) {
  const absl::StatusOr<Safetensors> file = ReadSafetensors(path);
  if (absl::IsNotFound(file.status())) return std::nullopt;
  BestEvaluation best;
  if (file.ok()) {
    Evaluation any;
    any.task = task;
    best.metric = Metrics(any).front();
    const auto iteration = file->metadata.find("iteration");
    const auto value = file->metadata.find(NameOf(best.metric));
    if (iteration != file->metadata.end() && value != file->metadata.end() &&
        absl::SimpleAtoi(iteration->second, &best.iteration) &&
        absl::SimpleAtod(value->second, &best.metric.value)) {
      return best;
    }
  }
  LOG(WARNING) << path << " does not say how good its weights are"
               << (file.ok() ? "" : ": ") << file.status().message()
               << "; those of the next evaluation replace it";
  return std::nullopt;
}

}  // namespace ps
