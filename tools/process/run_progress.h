// What a run's metrics say of its progress.
#ifndef TOOLS_PROCESS_RUN_PROGRESS_H_
#define TOOLS_PROCESS_RUN_PROGRESS_H_

#include "tools/command_line/progress.h"
#include "tools/process/metrics_follower.h"

namespace ps {

Progress ProgressOf(const RunState& state);

}  // namespace ps

#endif  // TOOLS_PROCESS_RUN_PROGRESS_H_
