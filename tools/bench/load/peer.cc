#include "tools/bench/load/peer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config.h"
#include "common/flags.h"
#include "common/status_macros.h"
#include "tools/bench/load/gradient_source.h"
#include "tools/bench/load/replay_group.h"
#include "tools/bench/load/replay_payloads.h"
#include "tools/bench/processes/peer.h"
#include "tools/bench/worker.h"

namespace ps {
namespace {

struct Flags {
  std::string job;
  int64_t elements = 0;
  int first_rank = 0;
  int end_rank = 0;
  std::string gradients;
  int64_t ring = 1;
  int64_t payload_bytes = 0;
};

void AddOptions(Flags* flags, CommandLine* command_line) {
  command_line->AddRequiredOption(
      "job", "JOB", "File with the job and its servers.", &flags->job);
  command_line->AddRequiredOption(
      "elements", "N", "Number of elements in the model.", &flags->elements);
  command_line->AddRequiredOption("first-rank", "R",
                                  "Rank of the first worker in this process.",
                                  &flags->first_rank);
  command_line->AddRequiredOption("end-rank", "R",
                                  "Rank after the last worker in this process.",
                                  &flags->end_rank);
  command_line->AddOption("gradients", "FILE",
                          "A .npy file of gradients; empty: generated.",
                          &flags->gradients);
  command_line->AddRequiredOption(
      "ring", "N", "Prepared iterations of a worker.", &flags->ring);
  command_line->AddRequiredOption("payload-bytes", "N",
                                  "Limit for all prepared payloads.",
                                  &flags->payload_bytes);
}

absl::StatusOr<Replay> Prepare(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(JobConfig job, LoadConfig(flags.job));
  PS_ASSIGN_OR_RETURN(ShardMap shard_map, BenchShardMap(job, flags.elements));
  std::unique_ptr<GradientSource> source = GeneratedGradients(job.seed());
  if (!flags.gradients.empty()) {
    PS_ASSIGN_OR_RETURN(source, GradientsOfFile(flags.gradients));
  }
  ReplayOptions options;
  options.config = job;
  options.shard_map = &shard_map;
  options.source = source.get();
  options.ring = flags.ring;
  options.bytes = flags.payload_bytes;
  PS_ASSIGN_OR_RETURN(ReplayPayloads payloads, ReplayPayloads::Make(options));
  return Replay{std::move(job), std::move(shard_map), std::move(payloads)};
}

PeerAnswer Do(const PeerRequest& request, ReplayGroup* group) {
  switch (request.verb) {
    case PeerRequest::kPush:
      return NoNumbers(group->Iterate(request.count));
    case PeerRequest::kReport:
      return group->TakeCounts().Numbers();
    case PeerRequest::kCheck:
      return NoNumbers(group->Check());
    case PeerRequest::kFinish:
      return NoNumbers(group->Finish());
    case PeerRequest::kPull:
      break;
  }
  return absl::InvalidArgumentError("a load does not time pulls");
}

}  // namespace

int RunLoadPeer(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(PeerText("load"));
  AddOptions(&flags, &command_line);
  std::optional<Replay> replay;
  std::unique_ptr<ReplayGroup> group;
  return RunPeer(
      &command_line, argc, argv,
      [&]() -> PeerAnswer {
        PS_ASSIGN_OR_RETURN(replay, Prepare(flags));
        group = std::make_unique<ReplayGroup>(&*replay, flags.first_rank,
                                              flags.end_rank);
        PS_RETURN_IF_ERROR(group->Join());
        const ReplayPayloads& payloads = replay->payloads;
        return std::vector<int64_t>{payloads.plan().streams,
                                    payloads.plan().ring,
                                    payloads.total_bytes()};
      },
      [&](const PeerRequest& request) { return Do(request, group.get()); });
}

}  // namespace ps
