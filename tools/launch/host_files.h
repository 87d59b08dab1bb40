// What a run needs on each of its hosts: its folder there, with the job, the
// certificates of the host's own processes and a script.
#ifndef TOOLS_LAUNCH_HOST_FILES_H_
#define TOOLS_LAUNCH_HOST_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/launch/remote_process.h"
#include "tools/launch/run_together.h"
#include "tools/process/signals.h"

namespace ps {

// The folder of a run on every host, below the home folder, where commands of
// ssh begin: ".cache/gradsieve/runs/NAME".
std::string RemoteRunFolder(const std::string& run_directory);

// Files of that folder, which is relative.
std::string RemoteJobPath(const std::string& folder);
std::string RemoteCertificates(const std::string& folder);
std::string RemoteLifeline(const std::string& folder);
// Worker 0's run directory.
std::string RemoteRecords(const std::string& folder);

// The script for sh that makes the folder of host number `host`, closed to
// other users, and checks that the programs are there. It fails if the folder
// belongs to another run. `certificates` is a folder on this machine; empty:
// none. Errors: those of ReadFile, for certificates.
absl::StatusOr<std::string> HostFilesScript(const LaunchedJob& job,
                                            const std::string& certificates,
                                            int host);

// Runs these scripts. Errors: those of RunTogether and ResultOnHost.
absl::Status SendHostFiles(const LaunchedJob& job,
                           const std::string& certificates,
                           Interrupts* interrupts);

// Runs a script for sh on each host; the results are in the order of job.hosts.
// Errors: those of RunTogether.
absl::StatusOr<std::vector<CommandResult>> RunScripts(
    const LaunchedJob& job, const std::vector<std::string>& scripts,
    Interrupts* interrupts);

}  // namespace ps

#endif  // TOOLS_LAUNCH_HOST_FILES_H_
