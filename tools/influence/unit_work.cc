#include "tools/influence/unit_work.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/state_io.h"

namespace ps {
namespace {

// As in evaluations: large enough to keep the kernels busy.
constexpr int64_t kImages = 250;
constexpr int64_t kMaxPixels = 1 << 20;

// Separates these draws from all others with the same seed: "sketch" in ASCII.
constexpr uint64_t kSketchPurpose = 0x736b65746368;

constexpr char kScoresKind[] = "influence scores";

// None for all layers.
std::vector<std::string> LayerNames(const std::string& layers) {
  if (layers == kAllLayers) return {};
  return absl::StrSplit(layers, ',', absl::SkipEmpty());
}

template <typename T>
void PutVector(const std::vector<T>& values, StateWriter* writer) {
  writer->PutBytes({reinterpret_cast<const char*>(values.data()),
                    values.size() * sizeof(T)});
}

template <typename T>
absl::Status GetVector(StateReader* reader, std::vector<T>* values) {
  PS_ASSIGN_OR_RETURN(const absl::string_view bytes, reader->GetBytes());
  values->resize(bytes.size() / sizeof(T));
  bytes.copy(reinterpret_cast<char*>(values->data()),
             values->size() * sizeof(T));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnitWork>> UnitWork::Create(
    const InfluencePlan& plan) {
  PS_ASSIGN_OR_RETURN(DatasetPair data, ReadInfluenceData(plan.config));
  PS_ASSIGN_OR_RETURN(Batch queries, ReadQueries(plan.queries, data,
                                                 plan.config.data().name()));
  return std::unique_ptr<UnitWork>(
      new UnitWork(plan, std::move(data), std::move(queries)));
}

absl::Status UnitWork::LoadCheckpoint(int64_t number) {
  if (loaded_ == number) return absl::OkStatus();
  products_ = nullptr;
  model_ = LoadedModel();
  loaded_ = -1;
  EvaluatedJob job;
  job.config = plan_.config;
  job.weights = plan_.checkpoints[number].weights;
  PS_ASSIGN_OR_RETURN(model_,
                      LoadEvaluatedModel(job, data_.train->example_shape(),
                                         data_.description.text()));
  const ModelAtCheckpoint at = {model_.model.get(), &model_.weights,
                                model_.backend.get(),
                                data_.train->example_shape()};
  PS_ASSIGN_OR_RETURN(
      products_, plan_.layers == kLastLayer
                     ? NewLastLayerProducts(at, LastLayerOptionsFor(number))
                     : NewLayerProducts(at, LayerNames(plan_.layers)));
  if (!queries_.labels.empty()) {
    PS_RETURN_IF_ERROR(
        Annotate(products_->AddQueries(queries_), "the queries"));
  }
  loaded_ = number;
  return absl::OkStatus();
}

LastLayerOptions UnitWork::LastLayerOptionsFor(int64_t checkpoint) const {
  LastLayerOptions options;
  options.with_bias = plan_.with_bias;
  options.sketch_size = plan_.sketch_size;
  // Independent for each checkpoint, so that their errors are.
  options.sketch_key =
      RandomKey(plan_.config.seed(), kSketchPurpose,
                static_cast<uint64_t>(plan_.checkpoints[checkpoint].push));
  return options;
}

absl::Status UnitWork::ScoreBatches(const WorkUnit& unit,
                                    ExampleScores* scores) {
  if (unit.of_queries) return products_->Score(queries_, scores);
  const int64_t most = std::clamp<int64_t>(
      kMaxPixels / data_.train->example_shape().num_elements(), 1, kImages);
  Batch batch;
  for (int64_t begin = unit.begin; begin < unit.end; begin += most) {
    std::vector<int64_t> numbers(std::min(most, unit.end - begin));
    std::iota(numbers.begin(), numbers.end(), begin);
    PS_RETURN_IF_ERROR(data_.train->Read(numbers, /*epoch=*/0, &batch));
    PS_RETURN_IF_ERROR(
        Annotate(products_->Score(batch, scores),
                 absl::StrCat("training examples from ", begin)));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExampleScores> UnitWork::Compute(const WorkUnit& unit) {
  ExampleScores scores;
  absl::Status status = LoadCheckpoint(unit.checkpoint);
  if (status.ok()) status = ScoreBatches(unit, &scores);
  if (status.ok()) return scores;
  return Annotate(status, plan_.checkpoints[unit.checkpoint].weights);
}

std::string SaveScores(const ExampleScores& scores) {
  StateWriter writer(kScoresKind);
  PutVector(scores.labels, &writer);
  PutVector(scores.predicted, &writer);
  PutVector(scores.losses, &writer);
  PutVector(scores.self, &writer);
  PutVector(scores.products, &writer);
  PutVector(scores.sketches, &writer);
  return std::move(writer).Finish();
}

absl::StatusOr<ExampleScores> LoadScores(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(StateReader reader,
                      StateReader::Open(kScoresKind, bytes));
  ExampleScores scores;
  PS_RETURN_IF_ERROR(GetVector(&reader, &scores.labels));
  PS_RETURN_IF_ERROR(GetVector(&reader, &scores.predicted));
  PS_RETURN_IF_ERROR(GetVector(&reader, &scores.losses));
  PS_RETURN_IF_ERROR(GetVector(&reader, &scores.self));
  PS_RETURN_IF_ERROR(GetVector(&reader, &scores.products));
  PS_RETURN_IF_ERROR(GetVector(&reader, &scores.sketches));
  PS_RETURN_IF_ERROR(reader.Finish());
  return scores;
}

}  // namespace ps
