#include <deque>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "tools/command_line/human_format.h"
#include "tools/doctor/findings.h"
#include "tools/process/find_program.h"
#include "tools/process/subprocesses.h"
#include "tools/process/temporary_directory.h"

namespace ps {
namespace {

constexpr char kJob[] = R"(
  name: "doctor"
  model { name: "mlp" mlp { hidden_units: 16 } }
  data { name: "digits" digits { train_examples: 64 test_examples: 16 } }
  training { batch_size: 8 epochs: 1 }
  compressor { name: "sidco_e" ratio: 0.1 }
  optimizer { name: "sgd" learning_rate: 0.05 }
  cluster { num_workers: 1 num_servers: 1 startup_timeout_seconds: 20 }
)";

constexpr int kKeptLines = 5;  // Last lines of a failed training.

absl::Status Train(absl::Duration timeout) {
  PS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  PS_ASSIGN_OR_RETURN(const auto directory, TemporaryDirectory::Create());
  const std::string job = directory->path() + "/job.textproto";
  PS_RETURN_IF_ERROR(WriteFileAtomically(job, kJob));
  std::deque<std::string> lines;
  ProcessExit end;
  SubprocessCallbacks callbacks;
  callbacks.on_line = [&lines](int, OutputStream, absl::string_view line) {
    if (!line.empty()) lines.emplace_back(line);
    if (lines.size() > kKeptLines) lines.pop_front();
  };
  callbacks.on_exit = [&end](int, const ProcessExit& exit) { end = exit; };
  Subprocesses processes(std::move(callbacks));
  PS_RETURN_IF_ERROR(processes
                         .Start({program, "train", job,
                                 "--run-dir=" + directory->path() + "/run"})
                         .status());
  const absl::Time deadline = SteadyClock()->Now() + timeout;
  while (processes.num_running() > 0 && SteadyClock()->Now() < deadline) {
    PS_RETURN_IF_ERROR(processes.Poll(deadline));
  }
  const bool late = processes.num_running() > 0;
  if (!late && end.ok()) return absl::OkStatus();
  PS_RETURN_IF_ERROR(processes.Terminate(absl::Seconds(5)));
  return absl::InternalError(absl::StrCat(
      program, " train ",
      late ? absl::StrCat("has not ended after ", FormatTimeSpan(timeout))
           : DescribeExit(end),
      "; it printed:\n    ", absl::StrJoin(lines, "\n    ")));
}

}  // namespace

FindingGroup FindTraining(absl::Duration timeout) {
  Finding finding{"on the CPU"};
  finding.required = true;
  const absl::Time start = SteadyClock()->Now();
  const absl::Status trained = Train(timeout);
  if (trained.ok()) {
    finding.text =
        absl::StrCat("a server and a worker have trained a small network in ",
                     FormatTimeSpan(SteadyClock()->Now() - start));
  } else {
    finding.text = std::string(trained.message());
    finding.consequence = "nothing can be trained on this machine";
  }
  return {"Training", {finding}};
}

}  // namespace ps
