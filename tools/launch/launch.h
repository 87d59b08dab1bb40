// Trains a job on several hosts, from the files on this machine to the results.
#ifndef TOOLS_LAUNCH_LAUNCH_H_
#define TOOLS_LAUNCH_LAUNCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/launch/launch_record.h"
#include "tools/launch/programs.h"
#include "tools/launch/remote_process.h"
#include "tools/process/signals.h"

namespace ps {

// Reads a job, applies the overrides, and places it on the hosts of `record`,
// which decide how many workers there are: a line on stdout says so if the job
// says another number. Errors: kInvalidArgument for the job and the hosts;
// those of ReadFile.
absl::StatusOr<LaunchedJob> PlaceJob(const std::string& job_path,
                                     const std::vector<std::string>& overrides,
                                     const LaunchRecord& record);

// Checks that ssh reaches every host, without anybody to type a password; that
// the hosts know the addresses of the servers, and have the programs of
// `source` or else of the job's record, as far as these name files there; and
// that no two servers get the same port of one machine, which may have several
// names. Errors: those of RunTogether; kAborted with the problems of all hosts.
absl::Status CheckHosts(const LaunchedJob& job, const ProgramSource& source,
                        Interrupts* interrupts);

// Trains a job whose run_directory exists. With `goes_on` it may have been
// trained for a while, and keeps the programs of its record unless `source` has
// others. Then the run directory has the results. Errors: those of
// PutProgramsOnHosts, SendHostFiles, RunRemoteCluster and FetchResults.
absl::Status Launch(LaunchedJob job, const ProgramSource& source, bool goes_on,
                    Interrupts* interrupts);

}  // namespace ps

#endif  // TOOLS_LAUNCH_LAUNCH_H_
