// What a job's consistency mode means to its parts.
#ifndef COMMON_CONSISTENCY_H_
#define COMMON_CONSISTENCY_H_

#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {

// Each push of gradients is an update of its own: stale synchronous and
// asynchronous jobs.
bool UpdatesByEachPush(const JobConfig& config);

// An update may go on without a worker, whose push then comes too late.
bool MayLeaveOut(const JobConfig& config);

// Workers may be in different iterations, so that one may end before others.
inline bool WorkersDrift(const JobConfig& config) {
  return UpdatesByEachPush(config) || MayLeaveOut(config);
}

// So many workers must be left; num_workers where none may be lost.
int MinWorkers(const JobConfig& config);

// Reports every problem of config.consistency() that is not about optimizers
// or the way back.
void CheckConsistency(const JobConfig& config, ConfigProblems* problems);

}  // namespace ps

#endif  // COMMON_CONSISTENCY_H_
