// Creates the backend that a config asks for.
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
  // The device: "auto", "cpu", "cuda" or "cuda:N".
  std::string device = "auto";
  int num_threads = 1;  // The number of threads on the CPU; at least 1.
  // The worker's rank. Workers on this machine whose ranks are equal modulo the
  // number of its CUDA devices share one device.
  int worker_rank = 0;
  int workers_on_machine = 1;  // At least 1.
  // The memory to use on a CUDA device; 0 means this worker's share of it.
  int64_t device_memory_bytes = 0;
  // The precision. Any value other than kFp32 needs a CUDA device.
  Precision precision = Precision::kFp32;
  // Whether a CUDA device must give the same bits from run to run, on the same
  // kind of device and with the same versions of its libraries. The CPU always
  // does.
  bool deterministic = true;
  // Whether recurrent layers on a CUDA device must use cuDNN; incompatible with
  // `deterministic`.
  bool cudnn_recurrent = false;
};

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  // A text for logs: "cuda:1, BF16 (rank 3, 2 devices)", "cpu (there is no CUDA
  // device)".
  std::string description;
};

// Returns a backend that has layers. "auto" chooses the CPU if no CUDA device
// can be used for training. Choosing the CPU is an error only for a precision
// that it does not have, since the results would differ. Errors:
// kInvalidArgument for options that break a rule or a device that does not
// exist; kFailedPrecondition, with the reason, if CUDA is required by name or
// by the precision but cannot be used; kResourceExhausted.
absl::StatusOr<ChosenBackend> NewBackend(const DeviceOptions& options);

// The facts about the machine that NewBackend's choice depends on.
struct CudaFacts {
  absl::StatusOr<int> num_devices = 0;
};

CudaFacts CudaFactsOfThisMachine();

struct DeviceChoice {
  std::optional<int> cuda_device;  // nullopt means the CPU.
  std::string reason;
  int num_sharers = 1;  // The number of workers that share the CUDA device.
};

// Makes NewBackend's choice, as a pure function for tests.
absl::StatusOr<DeviceChoice> ChooseDevice(const DeviceOptions& options,
                                          const CudaFacts& facts);

}  // namespace ps

#endif  // TENSOR_NEW_BACKEND_H_
