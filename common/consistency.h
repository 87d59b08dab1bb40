// Says what a job's consistency mode implies for workers and servers.
#ifndef COMMON_CONSISTENCY_H_
#define COMMON_CONSISTENCY_H_

#include "common/config_check.h"
#include "common/stage_workers.h"
#include "proto/config.pb.h"

namespace ps {

// Whether each push of gradients is an update of its own, as in stale
// synchronous and asynchronous jobs.
bool UpdatesByEachPush(const JobConfig& config);

// Whether an update may proceed without a worker, whose push then comes too
// late.
bool MayLeaveOut(const JobConfig& config);

// Whether workers may be in different iterations, so that one may finish before
// the others.
inline bool WorkersDrift(const JobConfig& config) {
  return UpdatesByEachPush(config) || MayLeaveOut(config);
}

// Whether this process keeps snapshots.
inline bool KeepsSnapshots(const JobConfig& config) {
  return config.checkpoint().every() > 0 &&
         !config.checkpoint().directory().empty();
}

// Whether all processes save their state after the same push when one of them
// is asked to end. (In asynchronous modes workers are never at the same push.)
inline bool StopsTogether(const JobConfig& config) {
  return KeepsSnapshots(config) && !WorkersDrift(config);
}

// Whether a lost worker can be restarted alone: it repeats the work since its
// snapshot with the same bits, and servers know their earlier answers. They do
// not know what workers with stages sent each other.
inline bool WorkersComeBack(const JobConfig& config) {
  return StopsTogether(config) && !WorkersHaveStages(config) &&
         config.checkpoint().durability() == CheckpointConfig::EVERY_UPDATE;
}

// Whether servers answer with means, and keep no weights.
inline bool AnswersMeans(const JobConfig& config) {
  return config.downlink().mode() == DownlinkConfig::MEAN;
}

// Whether answers depend on those before, and so are for workers that have all
// received the same: differences, and means with what was left out before.
bool SendsDifferences(const DownlinkConfig& downlink);

// The number of workers that the job needs to continue; num_workers if no
// worker may be lost.
int MinWorkers(const JobConfig& config);

// Reports every problem of config.consistency() that does not concern
// optimizers or the downlink.
void CheckConsistency(const JobConfig& config, ConfigProblems* problems);

}  // namespace ps

#endif  // COMMON_CONSISTENCY_H_
