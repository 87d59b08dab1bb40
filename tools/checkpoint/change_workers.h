// The snapshot of a job, made ready for another number of workers.
#ifndef TOOLS_CHECKPOINT_CHANGE_WORKERS_H_
#define TOOLS_CHECKPOINT_CHANGE_WORKERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "storage/files.h"

namespace ps {

struct ChangedWorkers {
  int from_workers = 0;
  // The snapshot that was there, and the one that there is now.
  int64_t from_number = 0;
  int64_t number = 0;
};

// Whether there is something for ChangeWorkers to do below `directory`, a
// checkpoint.directory: snapshots of another number of workers, or what an
// interruption has left.
bool HasOtherWorkers(Files* files, const std::string& directory,
                     int num_workers);

// Writes the latest snapshot that is whole on all processes once more, for
// `num_workers`, as of the same part of the training (SamePlace). Then removes
// all other snapshots, and the logs; until then both take their space. Does
// nothing if the job has this number of workers already. A call that was
// interrupted can be repeated, also with another number.
//
// Of N workers, numbered r, that become M:
//
// The residual of the new worker j is M / N times the sum of those of all r
// with r mod M = j. An update is the mean over the workers, so everything that
// was still to be sent counts as much as it would have.
//
// Worker j has everything else, such as momentum, statistics and the state of
// compressors, from worker j mod N.
//
// Errors, after which nothing has been removed: kNotFound if no snapshot is
// whole; kDataLoss if its progress is not that of this job; kFailedPrecondition
// if workers may drift apart in this job (WorkersDrift); kInvalidArgument if
// there are fewer examples than one batch of all workers needs; kUnavailable if
// a process uses its folder; those of the file system.
absl::StatusOr<ChangedWorkers> ChangeWorkers(Files* files,
                                             const std::string& directory,
                                             int num_workers);

}  // namespace ps

#endif  // TOOLS_CHECKPOINT_CHANGE_WORKERS_H_
