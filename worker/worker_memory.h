// The memory that a worker of a job needs, before it is started.
#ifndef WORKER_WORKER_MEMORY_H_
#define WORKER_WORKER_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "worker/training_parts.h"

namespace ps {

// Bytes of a worker that computes on the CPU. The worker's own objects are
// made, with memory that is counted and not touched, so that the machine need
// not have it. The peaks of jobs of four kinds are within a factor of 1.4 of it
// (tests/tools/worker_memory_test.cc).
struct WorkerMemory {
  int64_t program = 0;  // Code, libraries and threads.
  int64_t data = 0;     // What the data set holds, and batches read ahead.
  int64_t weights = 0;  // Weights, gradient, and a worker_optimizer's state.
  int64_t activations = 0;  // Of a training and an evaluation batch.
  int64_t scratch = 0;      // Of single operations, as for a layer's weights.
  int64_t compression = 0;  // Residuals, and the state of compressors.
  int64_t messages = 0;     // A push, and the answer to it.
  int64_t snapshot = 0;     // A copy of what a snapshot or the result writes.

  int64_t total() const {
    return program + data + weights + activations + scratch + compression +
           messages + snapshot;
  }
};

// The parts are those of the same config. Errors: those of planning the model.
absl::StatusOr<WorkerMemory> WorkerMemoryOf(const JobConfig& config,
                                            int worker_rank,
                                            const TrainingParts& parts);

// "about 410 MiB of memory: program 60, data 2, ...".
std::string Describe(const WorkerMemory& memory);

}  // namespace ps

#endif  // WORKER_WORKER_MEMORY_H_
