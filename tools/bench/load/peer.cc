#include "tools/bench/load/peer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/flags.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "tools/bench/load/gradient_source.h"
#include "tools/bench/load/replay_group.h"
#include "tools/bench/load/replay_payloads.h"
#include "tools/bench/processes/peer.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

struct Flags {
  std::string job;
  int64_t elements = 0;
  int64_t first_rank = 0;
  int64_t end_rank = 0;
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

absl::StatusOr<ShardMap> ShardMapOf(const JobConfig& job, int64_t elements) {
  ShardMapOptions map;
  const int64_t wanted = static_cast<int64_t>(
      job.training().bucket_megabytes() * (int64_t{1} << 18));
  // 0 means one bucket.
  const int64_t bucket = wanted > 0 ? wanted : elements;
  for (int64_t begin = 0; begin < elements; begin += bucket) {
    map.bucket_sizes.push_back(std::min(bucket, elements - begin));
  }
  map.num_servers = job.cluster().num_servers();
  map.max_slice_elements = MaxSliceElements(job);
  return ShardMap::Create(map);
}

// The workers and the objects that they borrow.
class Peer {
 public:
  static absl::StatusOr<std::unique_ptr<Peer>> Create(const Flags& flags) {
    PS_ASSIGN_OR_RETURN(JobConfig job, LoadConfig(flags.job));
    PS_ASSIGN_OR_RETURN(ShardMap shard_map, ShardMapOf(job, flags.elements));
    std::unique_ptr<GradientSource> source = GeneratedGradients(job.seed());
    if (!flags.gradients.empty()) {
      PS_ASSIGN_OR_RETURN(source, GradientsOfFile(flags.gradients));
    }
    ReplayOptions replay;
    replay.config = job;
    replay.shard_map = &shard_map;
    replay.source = source.get();
    replay.ring = flags.ring;
    replay.bytes = flags.payload_bytes;
    PS_ASSIGN_OR_RETURN(ReplayPayloads payloads, ReplayPayloads::Make(replay));
    return std::unique_ptr<Peer>(new Peer(
        flags, std::move(job), std::move(shard_map), std::move(payloads)));
  }

  PeerAnswer Join() {
    PS_RETURN_IF_ERROR(group_.Join());
    return std::vector<int64_t>{payloads_.plan().streams, payloads_.plan().ring,
                                payloads_.total_bytes()};
  }

  PeerAnswer Do(const PeerRequest& request) {
    const std::vector<int64_t> nothing;
    switch (request.verb) {
      case PeerRequest::kPush:
        PS_RETURN_IF_ERROR(group_.Iterate(request.count));
        return nothing;
      case PeerRequest::kReport:
        return group_.TakeCounts().Numbers();
      case PeerRequest::kCheck:
        PS_RETURN_IF_ERROR(group_.Check());
        return nothing;
      case PeerRequest::kFinish:
        PS_RETURN_IF_ERROR(group_.Finish());
        return nothing;
      case PeerRequest::kPull:
        break;
    }
    return absl::InvalidArgumentError("a load does not time pulls");
  }

 private:
  Peer(const Flags& flags, JobConfig job, ShardMap shard_map,
       ReplayPayloads payloads)
      : job_(std::move(job)),
        shard_map_(std::move(shard_map)),
        payloads_(std::move(payloads)),
        group_([&] {
          ReplayGroupOptions options;
          options.job = &job_;
          options.shard_map = &shard_map_;
          options.payloads = &payloads_;
          options.first_rank = static_cast<int>(flags.first_rank);
          options.end_rank = static_cast<int>(flags.end_rank);
          return options;
        }()) {}

  const JobConfig job_;
  const ShardMap shard_map_;
  const ReplayPayloads payloads_;
  ReplayGroup group_;
};

}  // namespace

int RunLoadPeer(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(PeerText("load"));
  AddOptions(&flags, &command_line);
  std::unique_ptr<Peer> peer;
  return RunPeer(
      &command_line, argc, argv,
      [&]() -> PeerAnswer {
        PS_ASSIGN_OR_RETURN(peer, Peer::Create(flags));
        return peer->Join();
      },
      [&](const PeerRequest& request) { return peer->Do(request); });
}

}  // namespace ps
