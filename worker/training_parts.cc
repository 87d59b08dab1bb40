#include "worker/training_parts.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
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

absl::Status ReadData(const JobConfig& config, TrainingParts* parts) {
  DatasetOptions data;
  data.config = config.data();
  data.seed = config.seed();
  PS_ASSIGN_OR_RETURN(parts->data, NewDataset(data));

  parts->set = {parts->data.train->size(), parts->data.train->order()};
  PS_ASSIGN_OR_RETURN(TrainingPlan plan, PlanTraining(config, parts->set));
  parts->plan = std::make_unique<TrainingPlan>(std::move(plan));
  return absl::OkStatus();
}

absl::Status ChooseBackend(const JobConfig& config, int worker_rank,
                           TrainingParts* parts) {
  DeviceOptions device;
  device.device = config.machine().device();
  device.num_threads = config.machine().worker_threads();
  if (device.num_threads == 0) {
    device.num_threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  device.worker_rank = worker_rank;
  device.workers_on_machine = config.machine().workers_on_machine();
  device.device_memory_bytes =
      config.machine().device_memory_megabytes() * (int64_t{1} << 20);
  device.precision = PrecisionOf(config.training().precision());
  device.deterministic = config.machine().deterministic();
  device.cudnn_recurrent = config.machine().cudnn_recurrent();
  PS_ASSIGN_OR_RETURN(ChosenBackend chosen, NewBackend(device));
  LOG(INFO) << "worker " << worker_rank << " computes on "
            << chosen.description;
  parts->backend = std::move(chosen.backend);
  return absl::OkStatus();
}

absl::Status MakeModel(const JobConfig& config, TrainingParts* parts) {
  ModelOptions model;
  model.config = config.model();
  model.example = parts->data.train->example_shape();
  model.backend = parts->backend.get();
  model.records_steps =
      config.machine().cuda_graphs() && parts->backend->gains_from_recordings();
  absl::StatusOr<std::unique_ptr<Model>> made = NewModel(model);
  if (absl::IsInvalidArgument(made.status())) {
    return absl::InvalidArgumentError(absl::StrCat(
        made.status().message(), "; data.name is \"", config.data().name(),
        "\" (`gradsieve list data` says what each holds)"));
  }
  PS_ASSIGN_OR_RETURN(parts->model, std::move(made));
  // Checked now, so that the error does not come during or after the training.
  for (const auto& [name, set] :
       {std::make_pair("training", parts->data.train.get()),
        std::make_pair("test", parts->data.test.get())}) {
    if (set->sequences() == nullptr) continue;
    PS_RETURN_IF_ERROR(Annotate(parts->model->CheckSequences(*set->sequences()),
                                absl::StrCat("the ", name, " set")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainingParts> MakeTrainingParts(const JobConfig& config,
                                                int worker_rank) {
  TrainingParts parts;
  PS_RETURN_IF_ERROR(ReadData(config, &parts));
  PS_RETURN_IF_ERROR(ChooseBackend(config, worker_rank, &parts));
  PS_RETURN_IF_ERROR(MakeModel(config, &parts));
  return parts;
}

}  // namespace ps
