// The programs of servers and workers on all hosts of a job.
#ifndef TOOLS_LAUNCH_PROGRAMS_H_
#define TOOLS_LAUNCH_PROGRAMS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/launch/hosts.h"
#include "tools/launch/launch_record.h"
#include "tools/process/signals.h"

namespace ps {

struct ProgramSource {
  std::string bundle;  // An archive of tools/bundle.
  std::string folder;  // Has the programs on every host.
  // The workers' program, beside "server"; "bridge" where workers run a command
  // of the user's.
  std::string worker = "worker";
};

// Checks that there is one source, which may be the bundle that this program
// runs from. Errors: kInvalidArgument says what to give; kNotFound for an
// archive that is not there.
absl::Status CheckProgramSource(const ProgramSource& source);

// Makes sure that every host has the programs, and writes their paths into
// *record. A bundle is unpacked into ~/.cache/gradsieve/bundles/ID of each host
// that does not have it yet, where ID is the SHA-256 of the archive. Without a
// source it is the bundle that this program runs from, and the SHA-256 is that
// of its list of files. Errors: those of CheckProgramSource and ResultOnHost.
absl::Status PutProgramsOnHosts(const ProgramSource& source,
                                const std::vector<LaunchHost>& hosts,
                                Interrupts* interrupts, LaunchRecord* record);

// The command that unpacks a bundle of this ID from its input, and tries its
// server and the program `worker`. `compression` is tar's option: "J", "z" or
// "".
std::string UnpackCommand(const std::string& id, const std::string& compression,
                          const std::string& worker);

}  // namespace ps

#endif  // TOOLS_LAUNCH_PROGRAMS_H_
