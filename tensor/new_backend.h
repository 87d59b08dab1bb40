// The backend that a config asks for.
#ifndef TENSOR_NEW_BACKEND_H_
#define TENSOR_NEW_BACKEND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tensor/backend.h"
#include "tensor/precision.h"

namespace ps {

struct DeviceOptions {
  // "auto", "cpu", "cuda" or "cuda:N".
  std::string device = "auto";
  int num_threads = 1;  // On the CPU; at least 1.
  // Of the workers on this machine, those whose ranks are equal modulo the
  // number of its CUDA devices share one.
  int worker_rank = 0;
  int workers_on_machine = 1;  // At least 1.
  // Of a CUDA device; 0: this worker's share of it.
  int64_t device_memory_bytes = 0;
  // Anything but kFp32 needs a CUDA device.
  Precision precision = Precision::kFp32;
  // The same bits from run to run on a CUDA device, of the same kind and with
  // the same versions of its libraries. The CPU's are always.
  bool deterministic = true;
};

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  // For logs: "cuda:1, BF16 (rank 3, 2 devices)", "cpu, 4 threads (there is no
  // CUDA device)".
  std::string description;
};

// With layers. "auto" is the CPU where no CUDA device can be used to train, or
// where its layers are not known to be right; that is an error only for a
// precision that the CPU does not have, where results would differ. Errors:
// kInvalidArgument for options that break a rule or a device that is not there;
// kFailedPrecondition if CUDA is asked for, by name or by the precision, and
// cannot be used, with the reason; kResourceExhausted.
absl::StatusOr<ChosenBackend> NewBackend(const DeviceOptions& options);

// What NewBackend knows of the machine.
struct CudaFacts {
  absl::StatusOr<int> num_devices = 0;
  bool has_layers = false;  // In this build.
  // Whether they have passed their tests on a device (docs/gpu_results.md).
  bool layers_have_run = false;
};

struct DeviceChoice {
  std::optional<int> cuda_device;  // None: the CPU.
  std::string reason;
  int num_sharers = 1;  // Of the CUDA device.
};

// NewBackend's choice. A pure function, for tests.
absl::StatusOr<DeviceChoice> ChooseDevice(const DeviceOptions& options,
                                          const CudaFacts& facts);

}  // namespace ps

#endif  // TENSOR_NEW_BACKEND_H_
