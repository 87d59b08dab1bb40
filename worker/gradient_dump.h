// A job's option to keep real gradients in a file (config.proto,
// training.dump_gradients), for trying compressors on them.
#ifndef WORKER_GRADIENT_DUMP_H_
#define WORKER_GRADIENT_DUMP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/npy_row_file.h"
#include "proto/training_config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

struct GradientDumpOptions {
  GradientDumpConfig config;
  std::string run_directory;  // Empty: there is none.
  int64_t num_parameters = 0;
  Backend* backend = nullptr;  // Not owned; outlives the dump.
};

// Not thread-safe.
class GradientDump {
 public:
  // Makes the directory and the file, without rows. config.every is above 0.
  // Errors: kInvalidArgument if neither the config nor the run names a
  // directory; what the system reports, with the path.
  static absl::StatusOr<std::unique_ptr<GradientDump>> Create(
      const GradientDumpOptions& options);

  // Adds the gradient, [num_parameters], if it is this iteration's turn.
  absl::Status Iteration(int64_t iteration, const Tensor& gradient);

  // The last call.
  absl::Status Close();

 private:
  GradientDump(const GradientDumpOptions& options, NpyRowFile file);

  const int64_t every_;
  Backend* const backend_;
  NpyRowFile file_;
  std::vector<float> row_;  // On its way from the backend.
};

}  // namespace ps

#endif  // WORKER_GRADIENT_DUMP_H_
