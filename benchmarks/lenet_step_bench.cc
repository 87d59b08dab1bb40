// Times LeNet-5's forward and backward pass in images per second on one CPU
// thread.
//
// Before timing, the loss is compared with the reference model in double.
// Prints medians of several rounds.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/batch.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tests/models/reference_models.h"

namespace ps {
namespace {

constexpr int64_t kBatchSize = 64;
constexpr int kRounds = 15;
constexpr int kStepsPerRound = 20;

Batch RandomBatch(const ExampleShape& example) {
  RandomStream random(RandomKey(1));
  Batch batch;
  for (int64_t i = 0; i < kBatchSize; ++i) {
    for (int64_t j = 0; j < example.num_elements(); ++j) {
      batch.inputs.push_back(static_cast<float>(random.Uniform()));
    }
    batch.labels.push_back(
        static_cast<int32_t>(random.Below(example.num_classes)));
  }
  return batch;
}

// Returns the median over the rounds. `step` is one pass over a batch.
template <typename Step>
absl::StatusOr<double> ImagesPerSecond(const Step& step) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const absl::Time start = SteadyClock()->Now();
    for (int i = 0; i < kStepsPerRound; ++i) {
      PS_RETURN_IF_ERROR(step().status());
    }
    const double seconds = absl::ToDoubleSeconds(SteadyClock()->Now() - start);
    rounds.push_back(kBatchSize * kStepsPerRound / seconds);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

absl::Status Run() {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                      NewCpuBackend(CpuBackendOptions()));
  ModelOptions options;
  options.config.set_name("lenet5");
  options.example.channels = 1;
  options.example.height = 28;
  options.example.width = 28;
  options.example.num_classes = 10;
  options.backend = backend.get();
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, NewModel(options));

  const int64_t n = model->num_parameters();
  std::vector<float> initial(n);
  model->InitializeWeights(/*seed=*/1, initial.data());
  PS_ASSIGN_OR_RETURN(Tensor weights, backend->Allocate({n}));
  PS_ASSIGN_OR_RETURN(Tensor gradient, backend->Allocate({n}));
  PS_RETURN_IF_ERROR(backend->CopyFromHost(initial.data(), &weights));
  const Batch batch = RandomBatch(options.example);

  const auto forward = [&] { return model->Evaluate(batch, weights); };
  const auto step = [&] {
    return model->ForwardBackward(batch, weights, &gradient, nullptr);
  };
  PS_ASSIGN_OR_RETURN(const BatchResult result, step());
  const double reference =
      ReferenceLenet5Loss(std::vector<double>(initial.begin(), initial.end()),
                          options.example, batch);
  // This form of the condition fails for NaN, too.
  if (!(std::abs(result.loss - reference) < 1e-5)) {
    return absl::InternalError(absl::StrCat(
        "the loss is ", result.loss, "; the reference's is ", reference));
  }
  PS_ASSIGN_OR_RETURN(const double forward_rate, ImagesPerSecond(forward));
  PS_ASSIGN_OR_RETURN(const double step_rate, ImagesPerSecond(step));
  std::printf(
      "LeNet-5, 28 x 28, batch %d, 1 thread; loss %.6f (reference %.6f)\n",
      static_cast<int>(kBatchSize), result.loss, reference);
  std::printf("forward            %8.0f images/s\n", forward_rate);
  std::printf("forward + backward %8.0f images/s\n", step_rate);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ps

int main() {
  const absl::Status status = ps::Run();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
