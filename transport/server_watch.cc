#include "transport/server_watch.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "grpcpp/client_context.h"
#include "proto/parameter_server.grpc.pb.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

constexpr absl::Duration kStatusDeadline = absl::Seconds(2);

}  // namespace

absl::Status CheckServers(const ServerLinks& servers,
                          absl::Duration lost_server_timeout) {
  for (const auto& server : servers) {
    const absl::Status failure = server->attendance().failure();
    if (!failure.ok()) return Annotate(failure, server->Name());
  }
  for (const auto& server : servers) {
    const absl::Duration broken =
        absl::Now() - server->attendance().broken_since();
    if (broken > lost_server_timeout) {
      return absl::UnavailableError(absl::StrCat(
          server->Name(), " has not answered for ",
          absl::FormatDuration(absl::Trunc(broken, absl::Seconds(1))),
          "; it has stopped, or the network to it is down. Look at its log, "
          "then start the job again"));
    }
  }
  return absl::OkStatus();
}

std::string DescribeWhoIsAwaited(const ServerLinks& servers) {
  std::vector<std::string> lines;
  for (const auto& server : servers) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kStatusDeadline));
    GetStatusResponse status;
    const absl::Status result = FromGrpcStatus(
        server->stub()->GetStatus(&context, GetStatusRequest(), &status));
    if (!result.ok()) {
      lines.push_back(
          absl::StrCat(server->Name(), " (", result.message(), ")"));
    } else if (status.missing_ranks_size() > 0) {
      lines.push_back(absl::StrCat("worker ",
                                   absl::StrJoin(status.missing_ranks(), ", "),
                                   " (not connected)"));
    } else if (status.awaited_ranks_size() > 0) {
      lines.push_back(absl::StrCat(
          "worker ", absl::StrJoin(status.awaited_ranks(), ", "),
          " (last version at ", server->Name(), ": ", status.version(), ")"));
    }
  }
  return absl::StrJoin(lines, "; ");
}

}  // namespace ps
