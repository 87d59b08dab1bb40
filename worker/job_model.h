// Creates the backend and the model that a job's config describes.
#ifndef WORKER_JOB_MODEL_H_
#define WORKER_JOB_MODEL_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"

namespace ps {

// Logs where this worker computes, and why. Errors: those of NewBackend.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const JobConfig& config,
                                                     int worker_rank);

// Checks that MakeBackend finds the device that the config names. Uses no
// memory of it. Errors: those of ChooseDevice.
absl::Status CheckDevice(const JobConfig& config, int worker_rank);

// Creates the model for such examples. `backend` is not owned and must outlive
// it. Errors: those of NewModel.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const JobConfig& config,
                                                 const ExampleShape& example,
                                                 Backend* backend);

}  // namespace ps

#endif  // WORKER_JOB_MODEL_H_
