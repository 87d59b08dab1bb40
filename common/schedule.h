// The learning rate as a function of the updates done so far.
#ifndef COMMON_SCHEDULE_H_
#define COMMON_SCHEDULE_H_

#include <cstdint>

#include "proto/optimizer_config.pb.h"

namespace ps {

// The rate of update number `update` (from 0: the first update uses rate 0's).
// total_updates: of the job, for a schedule with an end that does not say its
// own. Warm-up W: base (update + 1) / W while update < W. Source: PyTorch's
// LinearLR, StepLR, MultiStepLR, CosineAnnealingLR and PolynomialLR, which
// these equal; the cosine is Loshchilov and Hutter, "SGDR", ICLR 2017, eq. 5
// without restarts. Valid for configs that passed ValidateConfig.
double LearningRate(const OptimizerConfig& optimizer,
                    const ScheduleConfig& schedule, int64_t total_updates,
                    int64_t update);

}  // namespace ps

#endif  // COMMON_SCHEDULE_H_
