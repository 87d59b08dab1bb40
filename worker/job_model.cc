#include "worker/job_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/machine_limits.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/new_backend.h"
#include "tensor/precision.h"

namespace ps {
namespace {

Precision PrecisionOf(TrainingConfig::Precision precision) {
  switch (precision) {
    case TrainingConfig::FP32:
      break;
    case TrainingConfig::TF32:
      return Precision::kTf32;
    case TrainingConfig::BF16:
      return Precision::kBf16;
  }
  return Precision::kFp32;
}

DeviceOptions DeviceOf(const JobConfig& config, int worker_rank) {
  DeviceOptions device;
  device.device = config.machine().device();
  device.num_threads = config.machine().worker_threads();
  if (device.num_threads == 0) device.num_threads = MachineCores();
  device.worker_rank = worker_rank;
  device.workers_on_machine = config.machine().workers_on_machine();
  device.device_memory_bytes =
      config.machine().device_memory_megabytes() * (int64_t{1} << 20);
  device.precision = PrecisionOf(config.training().precision());
  device.deterministic = config.machine().deterministic();
  device.cudnn_recurrent = config.machine().cudnn_recurrent();
  return device;
}

}  // namespace

absl::Status CheckDevice(const JobConfig& config, int worker_rank) {
  return ChooseDevice(DeviceOf(config, worker_rank), CudaFactsOfThisMachine())
      .status();
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const JobConfig& config,
                                                     int worker_rank) {
  PS_ASSIGN_OR_RETURN(ChosenBackend chosen,
                      NewBackend(DeviceOf(config, worker_rank)));
  LOG(INFO) << "worker " << worker_rank << " computes on "
            << chosen.description;
  return std::move(chosen.backend);
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const JobConfig& config,
                                                 const ExampleShape& example,
                                                 Backend* backend) {
  ModelOptions model;
  model.config = config.model();
  model.example = example;
  model.backend = backend;
  model.records_steps =
      config.machine().cuda_graphs() && backend->gains_from_recordings();
  absl::StatusOr<std::unique_ptr<Model>> made = NewModel(model);
  if (absl::IsInvalidArgument(made.status())) {
    return absl::InvalidArgumentError(absl::StrCat(
        made.status().message(), "; data.name is \"", config.data().name(),
        "\" (`gradsieve list data` says what each holds)"));
  }
  return made;
}

}  // namespace ps
