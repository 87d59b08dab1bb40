// What a run's metrics say of its progress.
#ifndef TOOLS_RUN_PROGRESS_H_
#define TOOLS_RUN_PROGRESS_H_

#include "tools/metrics_follower.h"
#include "tools/progress.h"

namespace ps {

Progress ProgressOf(const RunState& state);

}  // namespace ps

#endif  // TOOLS_RUN_PROGRESS_H_
