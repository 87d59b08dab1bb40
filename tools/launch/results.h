// What worker 0 has made, brought into the run directory of this machine.
#ifndef TOOLS_LAUNCH_RESULTS_H_
#define TOOLS_LAUNCH_RESULTS_H_

#include "absl/status/status.h"
#include "tools/launch/remote_process.h"
#include "tools/process/signals.h"

namespace ps {

// Fetches weights.safetensors, metrics.jsonl and, if they are there,
// best.safetensors, classes.txt, trace.json and event files; then summary.json,
// so that a run with it is complete. With a command of the user's, none of them
// need be there. Each file appears under its name when it
// is complete. Errors: those of RunTogether and ResultOnHost; those of the file
// system.
absl::Status FetchResults(const LaunchedJob& job, Interrupts* interrupts);

}  // namespace ps

#endif  // TOOLS_LAUNCH_RESULTS_H_
