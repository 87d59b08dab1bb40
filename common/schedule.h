// Computes the learning rate from the number of updates done so far.
#ifndef COMMON_SCHEDULE_H_
#define COMMON_SCHEDULE_H_

#include <cstdint>

#include "proto/config.pb.h"
#include "proto/optimizer_config.pb.h"

namespace ps {

// Returns the learning rate of update number `update`, counted from 0.
// total_updates is the job's number of updates, for a schedule that ends and
// does not set its own end. During a warm-up of W updates the rate is base
// (update + 1) / W. The schedules equal PyTorch's LinearLR, StepLR,
// MultiStepLR, CosineAnnealingLR and PolynomialLR; the cosine is Loshchilov and
// Hutter, "SGDR", ICLR 2017, eq. 5, without restarts. The config must have
// passed ValidateConfig.
double LearningRate(const OptimizerConfig& optimizer,
                    const ScheduleConfig& schedule, int64_t total_updates,
                    int64_t update);

// Returns the learning rate of job.optimizer() before the schedule. With a
// worker_optimizer, whose pushes are steps already, it is 1 by default.
double BaseLearningRate(const JobConfig& job);

// Returns the learning rate of the servers' update number `update`: that of
// job.optimizer() by the schedule, or, with a worker_optimizer, which follows
// the schedule itself, a constant.
double ServersLearningRate(const JobConfig& job, int64_t total_updates,
                           int64_t update);

// Whether `now` trains for longer than `before`, by training.epochs or
// max_iterations.
bool IsLonger(const TrainingConfig& now, const TrainingConfig& before);

// Whether a longer job would have different iterations: its schedule ends with
// the training, or stages divide its epochs.
bool DependsOnItsLength(const JobConfig& job);

}  // namespace ps

#endif  // COMMON_SCHEDULE_H_
