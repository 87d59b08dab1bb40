#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "formats/safetensors.h"
#include "nlohmann/json.hpp"
#include "tools/checkpoint/blame.h"
#include "tools/checkpoint/change_workers.h"
#include "tools/checkpoint/job_snapshots.h"
#include "tools/checkpoint/reshard.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/human_format.h"

namespace ps {
namespace {

constexpr char kWeightsOwner[] = "worker-0";
constexpr char kWeightsFile[] = "weights.safetensors";

struct Flags {
  std::string directory;
  std::string output;
  int64_t number = -1;
  int64_t iteration = -1;
  int64_t servers = 0;  // Below 1: as many as there are.
  int64_t workers = 0;  // Likewise.
  bool json = false;
};

CommandText TextOf(const std::string& name, const std::string& description,
                   const std::string& example) {
  CommandText text;
  text.program = "gradsieve checkpoint " + name;
  text.description = description;
  text.examples = {{absl::StrCat("gradsieve checkpoint ", name, " ", example),
                    "for a run that `gradsieve train` has made"}};
  text.exit_codes = {
      {"0", "done"},
      {"1", "failed; the message says why"},
      {"64", "the command line makes no sense"},
      {"78", "a file is missing or damaged; the message names it"},
  };
  return text;
}

int64_t SizeOf(const JobSnapshot& snapshot) {
  int64_t size = 0;
  for (const ProcessPart& part : snapshot.parts) size += part.size_bytes();
  return size;
}

std::vector<std::string> DamagedIn(const JobSnapshot& snapshot) {
  std::vector<std::string> damaged;
  for (const ProcessPart& part : snapshot.parts) {
    if (!part.snapshot.ok()) damaged.push_back(part.process);
  }
  return damaged;
}

void ListAsJson(const std::vector<JobSnapshot>& snapshots) {
  Json list = Json::array();
  for (const JobSnapshot& snapshot : snapshots) {
    list.push_back({{"number", snapshot.number},
                    {"size_bytes", SizeOf(snapshot)},
                    {"processes", snapshot.parts.size()},
                    {"missing", snapshot.missing},
                    {"damaged", DamagedIn(snapshot)}});
  }
  std::printf("%s\n", JsonText(list).c_str());
}

absl::Status List(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> snapshots,
                      FindJobSnapshots(Files::Real(), flags.directory));
  if (flags.json) {
    ListAsJson(snapshots);
    return absl::OkStatus();
  }
  std::printf("%9s  %9s  %s\n", "number", "size", "processes");
  for (const JobSnapshot& snapshot : snapshots) {
    const std::vector<std::string> damaged = DamagedIn(snapshot);
    std::string processes = absl::StrCat(snapshot.parts.size());
    for (const auto& [what, names] :
         {std::pair{"missing", snapshot.missing}, {"damaged", damaged}}) {
      if (names.empty()) continue;
      absl::StrAppend(&processes, "; ", what, ": ", absl::StrJoin(names, ", "));
    }
    std::printf("%9lld  %9s  %s\n", static_cast<long long>(snapshot.number),
                FormatBytes(SizeOf(snapshot)).c_str(), processes.c_str());
  }
  return absl::OkStatus();
}

absl::Status Inspect(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> snapshots,
                      FindJobSnapshots(Files::Real(), flags.directory));
  PS_ASSIGN_OR_RETURN(
      const JobSnapshot snapshot,
      ChooseJobSnapshot(snapshots, flags.number, kWeightsOwner));
  std::printf("Snapshot %lld, after so many pushes\n\n",
              static_cast<long long>(snapshot.number));
  for (const ProcessPart& process : snapshot.parts) {
    PS_RETURN_IF_ERROR(process.snapshot.status());
    for (const SnapshotPart& part : process.snapshot->parts) {
      std::printf("%-12s %-22s %9s\n", process.process.c_str(),
                  part.name.c_str(), FormatBytes(part.size_bytes).c_str());
    }
  }
  PS_ASSIGN_OR_RETURN(const Snapshot owner, PartOf(snapshot, kWeightsOwner));
  PS_ASSIGN_OR_RETURN(const std::string bytes,
                      ReadPart(Files::Real(), owner, kWeightsFile));
  PS_ASSIGN_OR_RETURN(const Safetensors weights, ParseSafetensors(bytes));
  std::printf("\n%zu tensors\n", weights.tensors.size());
  for (const SafetensorsTensor& tensor : weights.tensors) {
    std::printf("%-36s [%s]\n", tensor.name.c_str(),
                absl::StrJoin(tensor.shape, ", ").c_str());
  }
  return absl::OkStatus();
}

absl::Status VerifyAll(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> snapshots,
                      FindJobSnapshots(Files::Real(), flags.directory));
  if (flags.number >= 0) {
    PS_RETURN_IF_ERROR(
        ChooseJobSnapshot(snapshots, flags.number, kWeightsOwner).status());
  }
  std::vector<std::string> problems;
  for (const JobSnapshot& snapshot : snapshots) {
    if (flags.number >= 0 && snapshot.number != flags.number) continue;
    const std::vector<std::string> found = Verify(Files::Real(), snapshot);
    problems.insert(problems.end(), found.begin(), found.end());
    if (!found.empty()) continue;
    // Other processes may keep theirs on other machines.
    std::printf("snapshot %lld is whole%s\n",
                static_cast<long long>(snapshot.number),
                snapshot.missing.empty()
                    ? ""
                    : absl::StrCat(", but has no part here of ",
                                   absl::StrJoin(snapshot.missing, ", "))
                          .c_str());
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrJoin(problems, "\n"));
}

absl::Status Export(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> snapshots,
                      FindJobSnapshots(Files::Real(), flags.directory));
  PS_ASSIGN_OR_RETURN(
      const JobSnapshot snapshot,
      ChooseJobSnapshot(snapshots, flags.number, kWeightsOwner));
  PS_ASSIGN_OR_RETURN(const Snapshot owner, PartOf(snapshot, kWeightsOwner));
  PS_ASSIGN_OR_RETURN(const std::string bytes,
                      ReadPart(Files::Real(), owner, kWeightsFile));
  PS_RETURN_IF_ERROR(WriteFileAtomically(flags.output, bytes));
  std::printf("%s has the weights after %lld pushes\n", flags.output.c_str(),
              static_cast<long long>(snapshot.number));
  return absl::OkStatus();
}

absl::Status DealToServers(const std::string& directory, int servers) {
  PS_ASSIGN_OR_RETURN(const Resharded done,
                      ReshardServers(Files::Real(), directory, servers));
  if (done.from_servers == servers) {
    std::printf("%s has the snapshots of %d servers already\n",
                directory.c_str(), servers);
    return absl::OkStatus();
  }
  std::vector<int64_t> numbers = done.numbers;
  // The beginning is nothing that users know.
  if (numbers.front() == 0) numbers.erase(numbers.begin());
  std::printf(
      "%s: dealt from %d to %d servers: %s. To go on, set "
      "cluster.num_servers=%d\n",
      directory.c_str(), done.from_servers, servers,
      absl::StrJoin(numbers, ", ").c_str(), servers);
  return absl::OkStatus();
}

absl::Status DealToWorkers(const std::string& directory, int workers) {
  PS_ASSIGN_OR_RETURN(const ChangedWorkers done,
                      ChangeWorkers(Files::Real(), directory, workers));
  if (done.from_workers == workers) {
    std::printf("%s has the snapshots of %d workers already\n",
                directory.c_str(), workers);
    return absl::OkStatus();
  }
  std::printf(
      "%s: from %d to %d workers, whose push %lld is at the same place as push "
      "%lld was. To go on, set cluster.num_workers=%d\n",
      directory.c_str(), done.from_workers, workers,
      static_cast<long long>(done.number),
      static_cast<long long>(done.from_number), workers);
  return absl::OkStatus();
}

// What contradicts itself on the command line.
absl::Status CheckShape(const Flags& flags) {
  for (const auto& [name, number, most] :
       {std::tuple{"servers", flags.servers, 256},
        std::tuple{"workers", flags.workers, 1024}}) {
    if (number < 0 || number > most) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", name, " is ", number, "; must be in [1, ", most, "]"));
    }
  }
  if (flags.servers == 0 && flags.workers == 0) {
    return absl::InvalidArgumentError("give --servers or --workers, or both");
  }
  return absl::OkStatus();
}

absl::Status Reshard(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const std::string directory,
                      FindCheckpointDirectory(Files::Real(), flags.directory));
  if (flags.servers > 0) {
    PS_RETURN_IF_ERROR(
        DealToServers(directory, static_cast<int>(flags.servers)));
  }
  if (flags.workers == 0) return absl::OkStatus();
  return DealToWorkers(directory, static_cast<int>(flags.workers));
}

absl::Status CheckIteration(const Flags& flags) {
  if (flags.iteration >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "give --iteration=N, the last iteration to compare, from 0");
}

absl::Status FindBlame(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const BlameReport report,
                      Blame(flags.directory, flags.iteration));
  if (report.iteration < 0) {
    std::printf(
        "repeated from snapshot %lld: all workers have pushed what follows "
        "from their inputs, bit by bit, up to iteration %lld\n",
        static_cast<long long>(report.snapshot),
        static_cast<long long>(flags.iteration));
    return absl::OkStatus();
  }
  std::vector<std::string> workers;
  for (const auto& [rank, slices] : report.differing_slices) {
    workers.push_back(absl::StrCat("worker ", rank, " (", slices, " of ",
                                   report.num_slices, " slices)"));
  }
  return absl::InternalError(absl::StrCat(
      "repeated from snapshot ", report.snapshot, ": in iteration ",
      report.iteration, ", ", absl::StrJoin(workers, ", "),
      " pushed other bits than what follows from the same inputs. Everything "
      "before has the same bits; what comes after cannot be compared"));
}

// What a command takes besides DIR.
enum class Takes { kJson, kNumber, kNumberAndOutput, kShape, kIteration };

int Run(const CommandText& text, absl::Status (*run)(const Flags&), int argc,
        char** argv, Takes takes) {
  const bool takes_output = takes == Takes::kNumberAndOutput;
  const bool takes_number = takes == Takes::kNumber || takes_output;
  Flags flags;
  CommandLine command_line(text);
  command_line.AddArgument("DIR", "A run directory or a checkpoint.directory.",
                           &flags.directory);
  if (takes_output) {
    command_line.AddArgument("FILE", "The file to write.", &flags.output);
  }
  if (takes_number) {
    command_line.AddOption("number", "N",
                           "Which snapshot; below 0: the latest, or all.",
                           &flags.number);
  }
  if (takes == Takes::kJson) {
    command_line.AddSwitch("json",
                           "Print an array of objects with number, size_bytes, "
                           "processes, missing and damaged.",
                           &flags.json);
  }
  if (takes == Takes::kShape) {
    command_line.AddOption("servers", "N",
                           "The new number of servers; 0: as it is.",
                           &flags.servers);
    command_line.AddOption("workers", "N",
                           "The new number of workers; 0: as it is.",
                           &flags.workers);
  }
  if (takes == Takes::kIteration) {
    command_line.AddOption("iteration", "N", "Up to which iteration, from 0.",
                           &flags.iteration);
  }
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  absl::Status status;
  if (takes == Takes::kShape) status = CheckShape(flags);
  if (takes == Takes::kIteration) status = CheckIteration(flags);
  const std::string name(absl::StripPrefix(text.program, "gradsieve "));
  if (!status.ok()) return FailCommand(name, status, kExitUsage);
  return EndCommand(name, run(flags));
}

int RunList(int argc, char** argv) {
  return Run(TextOf("list", "Lists the snapshots of a job.", "runs/lenet"),
             List, argc, argv, Takes::kJson);
}

int RunInspect(int argc, char** argv) {
  return Run(TextOf("inspect",
                    "Shows what each process has saved in a snapshot, and the "
                    "tensors of the model.",
                    "runs/lenet"),
             Inspect, argc, argv, Takes::kNumber);
}

int RunVerify(int argc, char** argv) {
  return Run(TextOf("verify",
                    "Reads every file of the snapshots, and the servers' "
                    "logs, and compares them with their checksums.",
                    "runs/lenet"),
             VerifyAll, argc, argv, Takes::kNumber);
}

int RunExport(int argc, char** argv) {
  return Run(TextOf("export",
                    "Writes the weights and statistics of a snapshot, with "
                    "PyTorch's names, as safetensors.",
                    "runs/lenet lenet.safetensors"),
             Export, argc, argv, Takes::kNumberAndOutput);
}

int RunReshard(int argc, char** argv) {
  return Run(TextOf("reshard",
                    "Deals the snapshots to another number of servers, on "
                    "which the job then goes on with the same bits, or the "
                    "latest one to another number of workers, which go on at "
                    "the same place in the training. `gradsieve train "
                    "--resume` does so by itself. The job must not run, and "
                    "the folders of all servers (for --workers: of all "
                    "processes) must be in DIR; afterwards the new ones are.",
                    "--servers=3 runs/lenet"),
             Reshard, argc, argv, Takes::kShape);
}

int RunBlame(int argc, char** argv) {
  return Run(TextOf("blame",
                    "Finds out whether a worker pushed something wrong: trains "
                    "again from the latest snapshot before an iteration, in a "
                    "temporary copy of the run, and compares the bits of all "
                    "pushes with those in the servers' logs. The run must have "
                    "ended, its log must reach back to a snapshot "
                    "(checkpoint.keep_last), and this machine must compute as "
                    "the workers' did.",
                    "--iteration=120 runs/lenet"),
             FindBlame, argc, argv, Takes::kIteration);
}

}  // namespace

int RunCheckpointCommand(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve checkpoint";
  text.description =
      "Works with the snapshots that the processes of a job have saved "
      "(checkpoint in the job; docs/recovery.md).";
  const Command commands[] = {
      {"list", "which there are, and which processes have them", RunList},
      {"inspect", "what is in one", RunInspect},
      {"verify", "whether they are whole", RunVerify},
      {"export", "the weights of one as safetensors", RunExport},
      {"blame", "which worker's push was wrong", RunBlame},
      {"reshard", "go on with other numbers of servers or workers", RunReshard},
  };
  return RunCommand(text, commands, argc, argv);
}

}  // namespace ps
