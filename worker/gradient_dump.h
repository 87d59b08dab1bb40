// Writes real gradients to a file, so that compressors can be tried on them
// (training.dump_gradients in the config).
#ifndef WORKER_GRADIENT_DUMP_H_
#define WORKER_GRADIENT_DUMP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/npy_row_file.h"
#include "proto/training_config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

struct GradientDumpOptions {
  GradientDumpConfig config;
  std::string run_directory;  // Empty if there is none.
  int64_t num_parameters = 0;
  Backend* backend = nullptr;  // Not owned; must outlive the dump.
};

// The dump. Not thread-safe.
class GradientDump {
 public:
  // Creates the directory and a file without rows. config.every must be above
  // 0. Errors: kInvalidArgument if neither the config nor the run names a
  // directory; the system's errors, with the path.
  static absl::StatusOr<std::unique_ptr<GradientDump>> Create(
      const GradientDumpOptions& options);

  // Adds the gradient, [num_parameters], if this iteration is to be dumped.
  absl::Status Iteration(int64_t iteration, const Tensor& gradient);

  // Closes the file; must be the last call.
  absl::Status Close();

 private:
  GradientDump(const GradientDumpOptions& options, NpyRowFile file);

  const int64_t every_;
  Backend* const backend_;
  NpyRowFile file_;
  std::vector<float> row_;  // The host copy of a gradient.
};

}  // namespace ps

#endif  // WORKER_GRADIENT_DUMP_H_
