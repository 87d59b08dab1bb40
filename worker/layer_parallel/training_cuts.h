// Manages a network's cuts in training: variables, penalty and steps.
#ifndef WORKER_LAYER_PARALLEL_TRAINING_CUTS_H_
#define WORKER_LAYER_PARALLEL_TRAINING_CUTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "compressors/state_io.h"
#include "models/layers/batch_result.h"
#include "models/layers/layer_times.h"
#include "proto/layer_parallel_config.pb.h"
#include "tensor/backend.h"
#include "worker/layer_parallel/cut_variables.h"
#include "worker/layer_parallel/network_cuts.h"
#include "worker/layer_parallel/parallel_step.h"
#include "worker/layer_parallel/phase_account.h"
#include "worker/layer_parallel/staged_network.h"
#include "worker/layer_parallel/step_size.h"

namespace ps {

// The options. Pointers are not owned and must outlive the cuts.
struct TrainingCutsOptions {
  const LayerParallelConfig* config = nullptr;
  const std::vector<Stage>* stages = nullptr;
  StagedNetwork* network = nullptr;
  ExampleShape example;
  uint64_t seed = 0;
  int64_t num_examples = 0;
  Backend* backend = nullptr;
  LayerTimes* times = nullptr;
};

// The cuts before the stages of this worker. If there are other workers, all
// make the same calls in the same order; the first one has no cut. Not
// thread-safe.
class TrainingCuts {
 public:
  // Creates the cuts. Errors: kResourceExhausted if the variables would take
  // more memory than the config allows; those of NewAuxNetwork.
  static absl::StatusOr<std::unique_ptr<TrainingCuts>> Create(
      const TrainingCutsOptions& options);

  // Records the activations and gradients of the network's latest SerialStep,
  // of its first `count` examples.
  absl::Status Record(const Examples& examples, int64_t count);
  // Returns the examples that were never recorded; a parallel phase needs all.
  std::vector<int64_t> Missing() const;

  // Begins a phase: chooses the penalty, if it is not known yet, and the step
  // size. vectors: see ParallelStep; the gradient is overwritten.
  absl::Status BeginPhase(const Batch& batch, const Examples& examples,
                          const StepVectors& vectors);
  // Runs one mini-batch of the phase. Adds its costs to *account.
  absl::StatusOr<BatchResult> Step(const Batch& batch, const Examples& examples,
                                   const StepVectors& vectors,
                                   PhaseAccount* account);

  // Save and load the state for snapshots. Errors of Load: kDataLoss.
  void Save(StateWriter* state) const;
  absl::Status Load(StateReader* state);

 private:
  struct Cut {
    int number = 0;  // The stage before which it is.
    CutOptions options;
    std::unique_ptr<CutVariables> variables;
    StepGuard guard;
  };

  explicit TrainingCuts(const TrainingCutsOptions& options);

  const LayerParallelConfig& config() const { return *options_.config; }
  int64_t batch_size() const { return options_.network->batch_size(); }
  size_t size() const { return cuts_.size(); }
  absl::Status Add(int number);
  absl::StatusOr<std::unique_ptr<CutVariables>> NewVariables(
      const CutOptions& cut, int number) const;
  // Returns the values of all workers, at most this many of each; `own` if
  // there are no others.
  absl::StatusOr<std::vector<float>> OfAllWorkers(std::vector<float> own,
                                                  int64_t most) const;
  absl::Status CheckMemory(const CutOptions& cut) const;
  // Adds the first examples' ratios of gradients and activations.
  void TakeRatios(int64_t size, int64_t count, const float* activations,
                  const float* gradient);
  absl::Status MeasurePenalty();
  absl::StatusOr<double> StableStepNow(const Batch& batch,
                                       const Examples& examples,
                                       const StepVectors& vectors);
  absl::Status Store(const Examples& examples, size_t i);

  const TrainingCutsOptions options_;
  std::vector<Cut> cuts_;
  std::vector<CutBatch> batches_;  // The latest batch at each cut.
  // [examples], 1 if an example's variables have been recorded, else 0.
  std::vector<char> recorded_;
  ParallelStepOptions step_;   // The penalty is 0 until it is known.
  std::vector<float> ratios_;  // The ratios for MeasurePenalty.
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_TRAINING_CUTS_H_
