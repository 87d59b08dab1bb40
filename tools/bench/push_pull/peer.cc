#include "tools/bench/push_pull/peer.h"

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
#include "common/status_macros.h"
#include "tools/bench/processes/peer.h"
#include "tools/bench/push_pull/data_plane.h"
#include "tools/bench/push_pull/parameter_server.h"
#include "tools/bench/push_pull/raw_tcp.h"

namespace ps {
namespace {

struct Flags {
  std::string role;
  int64_t rank = 0;
  int64_t workers = 1;
  int64_t elements = 0;
  int64_t connections = 1;
  int64_t port = 0;
  std::string job;
  int64_t bucket_elements = 0;
  int64_t one_of = 1;
  int64_t total_pushes = 0;
};

void AddOptions(Flags* flags, CommandLine* command_line) {
  command_line->AddRequiredOption("role", "ROLE", "Role of this process.",
                                  &flags->role);
  command_line->AddRequiredOption(
      "elements", "N", "Number of elements in the model.", &flags->elements);
  command_line->AddOption("rank", "R", "Rank of this worker.", &flags->rank);
  command_line->AddOption("workers", "N", "Number of workers.",
                          &flags->workers);
  command_line->AddOption("connections", "N",
                          "Number of connections of a raw worker.",
                          &flags->connections);
  command_line->AddOption("port", "PORT", "Port of the raw server.",
                          &flags->port);
  command_line->AddOption("job", "JOB", "File with the parameter server's job.",
                          &flags->job);
  command_line->AddOption("bucket-elements", "N",
                          "Number of elements in a bucket.",
                          &flags->bucket_elements);
  command_line->AddOption("one-of", "N", "Push every N-th element.",
                          &flags->one_of);
  command_line->AddOption("total-pushes", "N",
                          "Number of pushes that will be requested.",
                          &flags->total_pushes);
}

absl::StatusOr<std::unique_ptr<DataPlane>> NewDataPlane(const Flags& flags) {
  if (flags.role == kRawWorkerRole) {
    RawTcpOptions options;
    options.port = static_cast<int>(flags.port);
    options.elements = flags.elements;
    options.rank = static_cast<int>(flags.rank);
    options.num_workers = static_cast<int>(flags.workers);
    options.connections = static_cast<int>(flags.connections);
    return ConnectRawTcp(options);
  }
  if (flags.role != kWorkerRole) {
    return absl::InvalidArgumentError(
        absl::StrCat("--role is \"", flags.role, "\"; must be ", kRawServerRole,
                     ", ", kRawWorkerRole, " or ", kWorkerRole));
  }
  ParameterServerOptions options;
  PS_ASSIGN_OR_RETURN(options.config, LoadConfig(flags.job));
  if (options.config.cluster().servers_size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.job, " must have 1 of cluster.servers"));
  }
  options.server = options.config.cluster().servers(0);
  options.rank = static_cast<int>(flags.rank);
  options.elements = flags.elements;
  options.bucket_elements = flags.bucket_elements;
  options.one_of = flags.one_of;
  options.total_pushes = flags.total_pushes;
  return JoinParameterServer(options);
}

// The timed part of the work.
absl::StatusOr<PeerTiming> Repeat(const PeerRequest& request,
                                  DataPlane* plane) {
  PeerTiming timing;
  timing.start_nanoseconds = SteadyNanoseconds();
  for (int64_t i = 0; i < request.count; ++i) {
    if (request.verb == PeerRequest::kPush) {
      PS_ASSIGN_OR_RETURN(const PushTraffic traffic, plane->Push());
      timing.payload_bytes += traffic.payload_bytes;
      timing.answer_bytes += traffic.answer_bytes;
    } else {
      PS_ASSIGN_OR_RETURN(const int64_t bytes, plane->Pull());
      timing.payload_bytes += bytes;
    }
  }
  timing.end_nanoseconds = SteadyNanoseconds();
  return timing;
}

PeerAnswer Do(const PeerRequest& request, DataPlane* plane) {
  const std::vector<int64_t> nothing;
  switch (request.verb) {
    case PeerRequest::kCheck:
      PS_RETURN_IF_ERROR(plane->Check(request.count));
      return nothing;
    case PeerRequest::kFinish:
      PS_RETURN_IF_ERROR(plane->Finish());
      return nothing;
    case PeerRequest::kReport:
      return absl::InvalidArgumentError("there is nothing to report");
    case PeerRequest::kPush:
    case PeerRequest::kPull:
      break;
  }
  PS_ASSIGN_OR_RETURN(const PeerTiming timing, Repeat(request, plane));
  return TimingNumbers(timing);
}

}  // namespace

int RunPushPullPeer(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(PeerText("push-pull"));
  AddOptions(&flags, &command_line);
  std::unique_ptr<RawTcpServer> raw_server;
  std::unique_ptr<DataPlane> plane;
  return RunPeer(
      &command_line, argc, argv,
      [&]() -> PeerAnswer {
        if (flags.role == kRawServerRole) {
          PS_ASSIGN_OR_RETURN(raw_server, RawTcpServer::Start(flags.elements));
          return std::vector<int64_t>{raw_server->port()};
        }
        PS_ASSIGN_OR_RETURN(plane, NewDataPlane(flags));
        return std::vector<int64_t>();
      },
      [&](const PeerRequest& request) -> PeerAnswer {
        if (plane == nullptr) {
          return absl::InvalidArgumentError(
              "the raw TCP server takes no requests");
        }
        return Do(request, plane.get());
      });
}

}  // namespace ps
