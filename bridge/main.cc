// The `bridge` program: one worker of a job whose model is in another process,
// which starts this one.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/dialogue.h"
#include "common/config.h"
#include "common/entropy.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/unique_fd.h"
#include "glog/logging.h"
#include "transport/grpc_log.h"

namespace ps {
namespace {

struct Flags {
  std::string config;
  int rank = -1;
  int socket = -1;
  int parent = 0;
  std::vector<std::string> overrides;
};

CommandText Text() {
  CommandText text;
  text.program = "bridge";
  text.description =
      "Connects a training process, which has the model, the data and the "
      "optimizer, with the servers of a job. The Python package gradsieve "
      "starts it; docs/pytorch.md says how a script uses that.";
  text.exit_codes = {
      {"0", "the training process has finished"},
      {"1", "the job failed; the last line says why"},
      {"64", "the command line makes no sense"},
      {"75",
       "a server cannot be reached, or was lost; or the training process has "
       "ended without finishing"},
      {"78", "the job's config is wrong, or the workers' models differ"},
      {"143", "ended by SIGTERM"},
  };
  return text;
}

absl::Status Run(const Flags& flags) {
  // Readable when that process has ended. glibc has had a function for it only
  // since 2.36.
  const UniqueFd parent(
      static_cast<int>(syscall(SYS_pidfd_open, flags.parent, /*flags=*/0)));
  if (parent.get() < 0 || getppid() != flags.parent) {
    return absl::UnavailableError(absl::StrCat(
        "process ", flags.parent, ", which started this one, has ended"));
  }
  DialogueOptions options;
  options.config = LoadJob(flags.config, flags.overrides);
  options.worker_rank = flags.rank;
  options.incarnation = Entropy();
  options.name = ProcessName(flags.parent);
  options.socket = flags.socket;
  options.process = parent.get();
  return Converse(options);
}

int Main(int argc, char** argv) {
  InitProgram(argv[0]);
  LimitGrpcLog();
  const char* const log = std::getenv("GRADSIEVE_LOG");
  if (log == nullptr || absl::string_view(log) != "info") {
    FLAGS_minloglevel = google::GLOG_WARNING;
  }
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddRequiredOption("config", "JOB", "The job, a .textproto file.",
                                 &flags.config);
  command_line.AddRequiredOption("rank", "R", "Which worker this is, from 0.",
                                 &flags.rank);
  command_line.AddRequiredOption(
      "socket", "FD",
      "The inherited descriptor of a socket to the training process.",
      &flags.socket);
  command_line.AddRequiredOption("parent", "PID", "The training process.",
                                 &flags.parent);
  AddOverrides(&command_line, &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return ExitCodeFor(Run(flags));
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) { ps::EndProgram(ps::Main(argc, argv)); }
