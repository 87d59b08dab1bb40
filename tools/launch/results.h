// What worker 0 has made, brought into the run directory of this machine.
#ifndef TOOLS_LAUNCH_RESULTS_H_
#define TOOLS_LAUNCH_RESULTS_H_

#include <string>

#include "absl/status/status.h"
#include "tools/process/signals.h"

namespace ps {

struct ResultsOptions {
  std::string ssh;
  std::string host;           // Worker 0's.
  std::string folder;         // There.
  std::string run_directory;  // Here.
};

// Fetches weights.safetensors, metrics.jsonl and, if they are there,
// best.safetensors, classes.txt, trace.json and event files; then summary.json,
// so that a run with it is complete. Each file appears under its name when it
// is complete. Errors: those of RunTogether and ResultOnHost; those of the file
// system.
absl::Status FetchResults(const ResultsOptions& options,
                          Interrupts* interrupts);

}  // namespace ps

#endif  // TOOLS_LAUNCH_RESULTS_H_
