// Whether an update leaves alone what no worker sent.
#ifndef SERVER_OPTIMIZERS_PUSHED_ONLY_H_
#define SERVER_OPTIMIZERS_PUSHED_ONLY_H_

#include "proto/config.pb.h"

namespace ps {

// An update of `job` changes no weight and no state of an element that no
// worker's push holds: servers need not visit it, and the new values of the
// pushed elements are the whole answer. False for a job whose optimizer is
// unknown, and with majority_vote, in which all elements have a vote.
bool ChangesOnlyWhatWasPushed(const JobConfig& job);

}  // namespace ps

#endif  // SERVER_OPTIMIZERS_PUSHED_ONLY_H_
