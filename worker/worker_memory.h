// Estimates the memory of a worker before it is started.
#ifndef WORKER_WORKER_MEMORY_H_
#define WORKER_WORKER_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "worker/training_parts.h"

namespace ps {

// The bytes of a worker that computes on the CPU. The worker's own objects are
// created, with memory that is counted and not touched, so that the machine
// need not have it. The peaks of jobs of four kinds are within a factor of 1.4
// of it (tests/tools/worker_memory_test.cc).
struct WorkerMemory {
  int64_t program = 0;  // Code, libraries and threads.
  int64_t data = 0;     // The data set, and batches read ahead.
  int64_t weights = 0;  // Weights, gradient, and a worker_optimizer's state.
  int64_t activations = 0;  // A training batch and an evaluation batch.
  int64_t scratch = 0;      // Buffers of single operations.
  int64_t compression = 0;  // Residuals, and the state of compressors.
  int64_t messages = 0;     // A push, and its answer.
  int64_t snapshot = 0;     // A copy of the snapshot's or the result's files.

  int64_t total() const {
    return program + data + weights + activations + scratch + compression +
           messages + snapshot;
  }
};

// Estimates, for parts of this config. Errors: those of planning the model.
absl::StatusOr<WorkerMemory> WorkerMemoryOf(const JobConfig& config,
                                            int worker_rank,
                                            const TrainingParts& parts);

// Returns "about 410 MiB of memory: program 60, data 2, ...".
std::string Describe(const WorkerMemory& memory);

}  // namespace ps

#endif  // WORKER_WORKER_MEMORY_H_
