// Tells whether updates leave elements that no worker sent unchanged.
#ifndef OPTIMIZERS_PUSHED_ONLY_H_
#define OPTIMIZERS_PUSHED_ONLY_H_

#include "proto/config.pb.h"

namespace ps {

// Whether an update of `job` changes neither weight nor state of an element
// that is in no worker's push. Servers then need not visit such elements, and
// the new values of the pushed elements are the whole answer. False for a job
// whose optimizer is unknown, and with majority_vote, where every element gets
// a vote.
bool ChangesOnlyWhatWasPushed(const JobConfig& job);

}  // namespace ps

#endif  // OPTIMIZERS_PUSHED_ONLY_H_
