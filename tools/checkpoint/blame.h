// Finds the worker that pushed something else than what follows from its
// inputs.
#ifndef TOOLS_CHECKPOINT_BLAME_H_
#define TOOLS_CHECKPOINT_BLAME_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace ps {

struct BlameReport {
  int64_t snapshot = 0;  // With which the repetition began.
  // The first iteration in which a push had other bits; -1 if none had.
  int64_t iteration = -1;
  // In this iteration, by rank: how many slices of the worker's push differ.
  std::map<int, int64_t> differing_slices;
  int64_t num_slices = 0;
};

// Trains again from the latest snapshot before `iteration`, in a copy of the
// run, and compares what workers push, up to this iteration, with what the
// servers of the run have written down. After the first difference the
// repetition has other weights, so that it says nothing any more. The run must
// not be under way, and this machine must compute as those of the run did.
// Errors: kFailedPrecondition if the run has kept no log of each update;
// kNotFound, with what there is, if it does not reach the iteration; those of
// reading the files and of training.
absl::StatusOr<BlameReport> Blame(const std::string& run_directory,
                                  int64_t iteration);

}  // namespace ps

#endif  // TOOLS_CHECKPOINT_BLAME_H_
