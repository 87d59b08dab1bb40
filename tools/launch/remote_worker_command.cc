#include "tools/launch/remote_worker_command.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/launch/host_files.h"
#include "tools/launch/remote_command.h"
#include "tools/process/worker_command.h"

namespace ps {
namespace {

// A path as a word of sh, where $home is the home folder.
std::string BelowHome(const std::string& path) {
  return absl::StrCat(path[0] == '/' ? "" : "\"$home\"/", QuoteForShell(path));
}

std::string GoToFolder(const LaunchedJob& job) {
  return absl::StrCat("cd ", QuoteForShell(job.worker_folder),
                      " 2>/dev/null; ");
}

WorkerPlace PlaceOf(const LaunchedJob& job, const PlacedProcess& process) {
  int first_host = 0;
  while (job.hosts[first_host].num_workers == 0) ++first_host;
  WorkerPlace place;
  place.rank = process.number;
  place.num_workers = job.config.cluster().num_workers();
  place.num_local_workers = job.HostOf(process).num_workers;
  place.master_address = job.hosts[first_host].address;
  if (place.master_address[0] == '[') {
    place.master_address.erase(0, 1).pop_back();
  }
  place.master_port = job.record.port;
  for (const PlacedProcess& other : job.processes) {
    if (other.is_server()) {
      if (other.host == first_host) ++place.master_port;
    } else if (other.host == process.host && other.number < process.number) {
      ++place.local_rank;
    }
  }
  return place;
}

// For gs.init() on this host, whose bridge begins in another folder than our
// worker.
std::string Settings(const LaunchedJob& job, const PlacedProcess& process) {
  std::string settings = absl::StrCat("machine.workers_on_machine=",
                                      job.HostOf(process).num_workers);
  const SecurityConfig& security = job.config.security();
  if (security.mode() == SecurityConfig::MUTUAL_TLS) {
    absl::StrAppend(
        &settings, " security.directory=",
        BelowHome(security.directory().empty() ? RemoteCertificates(job.folder)
                                               : security.directory()));
  }
  return settings;
}

}  // namespace

std::vector<std::string> WorkerCommandArguments(const LaunchedJob& job,
                                                const PlacedProcess& process) {
  const WorkerPlace place = PlaceOf(job, process);
  std::vector<std::string> variables = {
      "GRADSIEVE_JOB=" + BelowHome(RemoteJobPath(job.folder)),
      "GRADSIEVE_BRIDGE=" + BelowHome(job.record.worker_program),
      absl::StrCat("GRADSIEVE_SET=\"$(printf '%s\\n' ", Settings(job, process),
                   ")\""),
      // Those that the host sets count.
      absl::StrCat("OMP_NUM_THREADS=\"${OMP_NUM_THREADS-$(($(nproc) < ",
                   2 * place.num_local_workers, " ? 1 : $(nproc) / ",
                   place.num_local_workers, "))}\""),
      "PYTHONUNBUFFERED=\"${PYTHONUNBUFFERED-1}\""};
  const auto add = [&variables](const std::string& variable) {
    variables.push_back(QuoteForShell(variable));
  };
  absl::c_for_each(RankVariables(place), add);
  if (place.rank == 0) {
    variables.push_back("GRADSIEVE_RUN_DIR=" +
                        BelowHome(RemoteRecords(job.folder)));
    absl::c_for_each(job.first_worker_arguments, add);
  }
  if (!job.metrics_listen.empty()) {
    add("GRADSIEVE_METRICS_LISTEN=" + MetricsAddress(job, process));
  }
  std::vector<std::string> arguments = {
      "sh", "-c",
      absl::StrCat("home=$PWD; ", GoToFolder(job), "export ",
                   absl::StrJoin(variables, " "), "; exec \"$@\""),
      "sh"};
  absl::c_copy(job.worker_command, std::back_inserter(arguments));
  return arguments;
}

std::string CheckWorkerCommandScript(const LaunchedJob& job) {
  if (job.worker_command.empty()) return "";
  const std::string& program = job.worker_command[0];
  const auto or_fail = [](const std::string& problem, const std::string& rule) {
    return absl::StrCat(" || { echo ", QuoteForShell(problem), " \"$PWD\"",
                        QuoteForShell("; " + rule), " >&2; exit 1; }\n");
  };
  std::string script = absl::StrCat(
      "(", GoToFolder(job),
      absl::StrContains(program, '/') ? "test -x " : "command -v ",
      QuoteForShell(program), " >/dev/null",
      or_fail(absl::StrCat("cannot run ", program, " in"),
              "every host must have the program of the command, at the same "
              "path or on the PATH of its ssh"));
  const auto file = absl::c_find_if(
      job.worker_command,
      [](const std::string& word) { return absl::EndsWith(word, ".py"); });
  if (file != job.worker_command.end()) {
    absl::StrAppend(&script, "test -f ", QuoteForShell(*file),
                    or_fail(absl::StrCat("there is no script ", *file, " in"),
                            "every host must have it at the same path"));
  }
  return script + ") || exit 1\n";
}

}  // namespace ps
