// Runs one mini-batch of a parallel phase.
#ifndef WORKER_LAYER_PARALLEL_PARALLEL_STEP_H_
#define WORKER_LAYER_PARALLEL_PARALLEL_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/batch.h"
#include "models/layers/batch_result.h"
#include "proto/layer_parallel_config.pb.h"
#include "worker/layer_parallel/block_filter.h"
#include "worker/layer_parallel/staged_network.h"

namespace ps {

// The options of a cut, the same for all examples.
struct CutOptions {
  BlockFilter filter;        // The filter for the activations of one example.
  bool multipliers = false;  // Whether there are any.
  LayerParallelConfig::WireFormat wire = LayerParallelConfig::FP32;

  // The number of elements of one example that are kept and sent.
  int64_t row_size() const { return filter.filtered_size(); }
};

// A batch's values at one cut, filtered.
struct CutBatch {
  std::vector<float> variables;    // [batch, row_size]
  std::vector<float> multipliers;  // Like the variables, or empty.
  double step_size = 0;
  // The mean over examples of the square of the mismatch, before the first
  // step. ParallelStep sets it.
  double mismatch = 0;
};

// Rounds to values that the format can send.
void RoundForWire(LayerParallelConfig::WireFormat wire,
                  std::vector<float>* values);
int64_t WireBytes(LayerParallelConfig::WireFormat wire);

struct ParallelStepOptions {
  double penalty = 0;
  int inner_steps = 1;
  std::vector<CutOptions> cuts;  // The cuts before stages 1, 2, ... of all.
};

struct ParallelStepResult {
  // The last stage's loss. A worker without it has only the number of examples.
  BatchResult batch;
  // The time of each of this worker's stages, with the steps of the cut at its
  // start, and without waiting for other workers.
  std::vector<absl::Duration> stage_times;
};

// Runs the network's stages on the values in `cuts`, whose variables and
// multipliers then make their steps, and repeats this with the same weights.
// The gradient is that of the last repetition. cuts: one for each cut before a
// stage of this worker.
absl::StatusOr<ParallelStepResult> ParallelStep(
    const ParallelStepOptions& options, const Batch& batch,
    const StepVectors& vectors, StagedNetwork* network,
    std::vector<CutBatch>* cuts);

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_PARALLEL_STEP_H_
