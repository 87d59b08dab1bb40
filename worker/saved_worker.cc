#include "worker/saved_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/state_io.h"

namespace ps {

std::string SaveProgress(const SavedProgress& progress,
                         const RunTotalsCounter& totals) {
  const ResumePoint& point = progress.point;
  StateWriter writer(kProgressPart, kProgressVersion);
  writer.PutInt(point.push);
  writer.PutInt(point.metrics_bytes);
  const EarlyStoppingState& stopping = point.early_stopping;
  writer.PutInt(stopping.best_score.has_value());
  writer.PutDouble(stopping.best_score.value_or(0));
  writer.PutInt(stopping.without_improvement);
  writer.PutInt(progress.weights_digest);
  writer.PutInt(progress.set.num_examples);
  writer.PutInt(progress.set.order == ExampleOrder::kSequential);
  writer.PutInt(progress.other_residuals);
  totals.Save(&writer);
  return std::move(writer).Finish();
}

absl::StatusOr<SavedProgress> LoadProgress(absl::string_view bytes,
                                           RunTotalsCounter* totals) {
  PS_ASSIGN_OR_RETURN(
      StateReader reader,
      StateReader::Open(kProgressPart, bytes, kProgressVersion));
  SavedProgress progress;
  PS_ASSIGN_OR_RETURN(progress.point.push, reader.GetInt());
  PS_ASSIGN_OR_RETURN(progress.point.metrics_bytes, reader.GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t has_score, reader.GetInt());
  PS_ASSIGN_OR_RETURN(const double score, reader.GetDouble());
  EarlyStoppingState& stopping = progress.point.early_stopping;
  if (has_score != 0) stopping.best_score = score;
  PS_ASSIGN_OR_RETURN(stopping.without_improvement, reader.GetInt());
  PS_ASSIGN_OR_RETURN(progress.weights_digest, reader.GetInt());
  PS_ASSIGN_OR_RETURN(progress.set.num_examples, reader.GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t sequential, reader.GetInt());
  progress.set.order =
      sequential != 0 ? ExampleOrder::kSequential : ExampleOrder::kShuffled;
  PS_ASSIGN_OR_RETURN(progress.other_residuals, reader.GetInt());
  PS_RETURN_IF_ERROR(totals->Load(&reader));
  PS_RETURN_IF_ERROR(reader.Finish());
  return progress;
}

std::string SaveResiduals(const std::vector<float>& values) {
  StateWriter writer(kResidualsPart);
  writer.PutFloats(values);
  return std::move(writer).Finish();
}

absl::StatusOr<std::vector<float>> LoadResiduals(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(StateReader reader,
                      StateReader::Open(kResidualsPart, bytes));
  const absl::string_view values = reader.Rest();
  if (values.size() % sizeof(float) != 0) {
    return absl::DataLossError(
        absl::StrCat("residuals of ", values.size(), " bytes"));
  }
  std::vector<float> residuals(values.size() / sizeof(float));
  values.copy(reinterpret_cast<char*>(residuals.data()), values.size());
  return residuals;
}

}  // namespace ps
