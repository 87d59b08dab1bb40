// What a run needs on each of its hosts: its folder there, with the job, the
// certificates of the host's own processes and a script.
#ifndef TOOLS_LAUNCH_HOST_FILES_H_
#define TOOLS_LAUNCH_HOST_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "proto/config.pb.h"
#include "tools/launch/hosts.h"
#include "tools/launch/launch_record.h"
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

// A file without a name that holds `text`, to be read from its start.
absl::StatusOr<UniqueFd> FileInMemory(absl::string_view text);

struct HostFilesOptions {
  const JobConfig* config = nullptr;  // Not owned.
  std::string certificates;           // Folder on this machine; empty: none.
  std::string run_directory;
  const LaunchRecord* record = nullptr;                   // Not owned.
  const std::vector<LaunchHost>* hosts = nullptr;         // Not owned.
  const std::vector<PlacedProcess>* processes = nullptr;  // Not owned.
};

// The script for sh that makes the folder of host number `host`, closed to
// other users, and checks that the programs are there. It fails if the folder
// belongs to another run. Errors: those of ReadFile, for certificates.
absl::StatusOr<std::string> HostFilesScript(const HostFilesOptions& options,
                                            int host);

// Runs these scripts. Errors: those of RunTogether and ResultOnHost.
absl::Status SendHostFiles(const HostFilesOptions& options,
                           Interrupts* interrupts);

}  // namespace ps

#endif  // TOOLS_LAUNCH_HOST_FILES_H_
