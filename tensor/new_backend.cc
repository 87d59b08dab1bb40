#include "tensor/new_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/device_name.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_backend.h"
#include "tensor/cuda/cuda_support.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"

namespace ps {
namespace {

// Explains why no model can be trained on CUDA; empty if one can.
std::string WhyNotCuda(const CudaFacts& facts) {
  if (!facts.num_devices.ok()) {
    return std::string(facts.num_devices.status().message());
  }
  if (*facts.num_devices == 0) return "there is no CUDA device";
  return "";
}

// Returns the number of workers that share the device. Ranks count from 0, and
// the device of this one is rank modulo num_devices.
int NumSharers(const DeviceOptions& options, int num_devices) {
  return (options.workers_on_machine + num_devices - 1) / num_devices;
}

// Checks that the CPU, chosen for `reason`, has the precision.
absl::Status CheckCpuPrecision(const DeviceOptions& options,
                               const std::string& reason) {
  if (options.precision == Precision::kFp32) return absl::OkStatus();
  const bool by_name = options.device == "cpu";
  return absl::Status(
      by_name ? absl::StatusCode::kInvalidArgument
              : absl::StatusCode::kFailedPrecondition,
      absl::StrCat("training.precision is ", PrecisionName(options.precision),
                   "; the CPU supports only FP32, and machine.device is \"",
                   options.device, "\"", by_name ? "" : ", where ",
                   by_name ? "" : reason,
                   "; set training.precision to FP32 to train on the CPU"));
}

absl::StatusOr<ChosenBackend> NewCpu(const DeviceOptions& options,
                                     const std::string& reason) {
  PS_RETURN_IF_ERROR(CheckCpuPrecision(options, reason));
  CpuBackendOptions cpu;
  cpu.num_threads = options.num_threads;
  ChosenBackend chosen;
  PS_ASSIGN_OR_RETURN(chosen.backend, NewCpuBackend(cpu));
  chosen.description = absl::StrCat("cpu (", reason, ")");
  return chosen;
}

}  // namespace

absl::StatusOr<DeviceChoice> ChooseDevice(const DeviceOptions& options,
                                          const CudaFacts& facts) {
  const std::optional<DeviceName> name = ParseDeviceName(options.device);
  if (!name.has_value() || options.workers_on_machine < 1 ||
      options.worker_rank < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device is \"", options.device, "\", which ", kDeviceNameRule,
        "; worker_rank is ", options.worker_rank, ", at least 0; ",
        "workers_on_machine is ", options.workers_on_machine, ", at least 1"));
  }
  DeviceChoice choice;
  if (name->kind == DeviceName::Kind::kCpu) {
    choice.reason = "as configured";
    PS_RETURN_IF_ERROR(CheckCpuPrecision(options, choice.reason));
    return choice;
  }
  const std::string why_not = WhyNotCuda(facts);
  if (!why_not.empty()) {
    if (name->kind == DeviceName::Kind::kCuda) {
      return absl::FailedPreconditionError(absl::StrCat(
          "machine.device is \"", options.device, "\", but ", why_not,
          "; set it to \"cpu\" or \"auto\" to train on the CPU"));
    }
    choice.reason = why_not;
    PS_RETURN_IF_ERROR(CheckCpuPrecision(options, choice.reason));
    return choice;
  }
  const int num_devices = *facts.num_devices;
  choice.num_sharers = NumSharers(options, num_devices);
  if (name->cuda_index.has_value()) {
    if (*name->cuda_index >= num_devices) {
      return absl::InvalidArgumentError(absl::StrCat(
          "machine.device is \"", options.device, "\"; this machine has ",
          num_devices, num_devices == 1 ? " CUDA device" : " CUDA devices",
          ", numbered from 0"));
    }
    choice.cuda_device = *name->cuda_index;
    choice.reason = "as configured";
    // Every worker with this config uses the same device.
    choice.num_sharers = options.workers_on_machine;
    return choice;
  }
  choice.cuda_device = options.worker_rank % num_devices;
  choice.reason = absl::StrCat("rank ", options.worker_rank, ", ", num_devices,
                               num_devices == 1 ? " device" : " devices");
  return choice;
}

CudaFacts CudaFactsOfThisMachine() {
  const CudaSupport* const cuda = FindCudaSupport();
  if (cuda != nullptr) return {cuda->device_count()};
  return {absl::UnavailableError("this build has no CUDA support")};
}

absl::StatusOr<ChosenBackend> NewBackend(const DeviceOptions& options) {
  PS_ASSIGN_OR_RETURN(const DeviceChoice choice,
                      ChooseDevice(options, CudaFactsOfThisMachine()));
  if (!choice.cuda_device.has_value()) return NewCpu(options, choice.reason);
  const CudaSupport* const support = FindCudaSupport();
  CudaNnOptions layers;
  layers.precision = options.precision;
  layers.deterministic = options.deterministic;
  layers.cudnn_recurrent = options.cudnn_recurrent;
  CudaBackendOptions cuda;
  cuda.layers = support->layers(layers);
  cuda.device = *choice.cuda_device;
  cuda.memory_bytes = options.device_memory_bytes;
  cuda.num_sharers = choice.num_sharers;
  cuda.num_host_threads = options.num_threads;
  absl::StatusOr<std::unique_ptr<Backend>> backend = support->new_backend(cuda);
  // For example, this build may have no code for the device.
  if (options.device == "auto" && absl::IsUnavailable(backend.status())) {
    return NewCpu(options, std::string(backend.status().message()));
  }
  PS_RETURN_IF_ERROR(
      Annotate(backend.status(), absl::StrCat("cuda:", cuda.device)));
  ChosenBackend chosen;
  chosen.backend = *std::move(backend);
  chosen.description =
      absl::StrCat("cuda:", cuda.device,
                   options.precision == Precision::kFp32
                       ? ""
                       : absl::StrCat(", ", PrecisionName(options.precision)),
                   options.deterministic ? "" : ", not deterministic", " (",
                   choice.reason, ")");
  return chosen;
}

}  // namespace ps
