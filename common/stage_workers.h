// Jobs whose workers train different stages of one network.
#ifndef COMMON_STAGE_WORKERS_H_
#define COMMON_STAGE_WORKERS_H_

#include "proto/config.pb.h"

namespace ps {

// Whether each worker trains a stage, so that workers send each other arrays
// within an iteration.
inline bool WorkersHaveStages(const JobConfig& config) {
  return config.training().has_layer_parallel() &&
         config.training().layer_parallel().stages() > 1 &&
         config.cluster().num_workers() > 1;
}

}  // namespace ps

#endif  // COMMON_STAGE_WORKERS_H_
