#include "tools/bench/push_pull/peer.h"

#include <cstdint>
#include <memory>
#include <string>
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
  std::string job;
  DataPlaneOptions plane;
};

void AddOptions(Flags* flags, CommandLine* command_line) {
  DataPlaneOptions* const plane = &flags->plane;
  command_line->AddRequiredOption("role", "ROLE", "Role of this process.",
                                  &flags->role);
  command_line->AddRequiredOption(
      "elements", "N", "Number of elements in the model.", &plane->elements);
  command_line->AddOption("rank", "R", "Rank of this worker.", &plane->rank);
  command_line->AddOption("workers", "N", "Number of workers.",
                          &plane->num_workers);
  command_line->AddOption("connections", "N",
                          "Number of connections of a raw worker.",
                          &plane->connections);
  command_line->AddOption("port", "PORT", "Port of the raw server.",
                          &plane->port);
  command_line->AddOption("job", "JOB", "File with the parameter server's job.",
                          &flags->job);
  command_line->AddOption("one-of", "N", "Push every N-th element.",
                          &plane->one_of);
}

absl::StatusOr<std::unique_ptr<DataPlane>> NewDataPlane(const Flags& flags) {
  if (flags.role == kRawWorkerRole) return ConnectRawTcp(flags.plane);
  if (flags.role != kWorkerRole) {
    return absl::InvalidArgumentError(
        absl::StrCat("--role is \"", flags.role, "\"; must be ", kRawServerRole,
                     ", ", kRawWorkerRole, " or ", kWorkerRole));
  }
  PS_ASSIGN_OR_RETURN(const JobConfig job, LoadConfig(flags.job));
  return JoinParameterServer(job, flags.plane);
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
  switch (request.verb) {
    case PeerRequest::kCheck:
      return NoNumbers(plane->Check(request.count));
    case PeerRequest::kFinish:
      return NoNumbers(plane->Finish());
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
          PS_ASSIGN_OR_RETURN(raw_server,
                              RawTcpServer::Start(flags.plane.elements));
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
