#include "tools/push_pull/peer.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "benchmarks/push_pull/data_plane.h"
#include "benchmarks/push_pull/parameter_server.h"
#include "benchmarks/push_pull/raw_tcp.h"
#include "common/config.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/status_macros.h"
#include "tools/push_pull/peer_messages.h"

namespace ps {
namespace {

struct Flags {
  std::string role;
  int64_t requests_fd = -1;
  int64_t rank = 0;
  int64_t workers = 1;
  int64_t elements = 0;
  int64_t connections = 1;
  int64_t port = 0;
  std::string job;
  std::string server;
  int64_t bucket_elements = 0;
  int64_t one_of = 1;
  int64_t total_pushes = 0;
};

std::optional<int> ParseFlags(int argc, char** argv, Flags* flags) {
  CommandText text;
  text.program = absl::StrCat("gradsieve bench push-pull ", kPushPullPeer);
  text.description = "A process that gradsieve bench push-pull starts.";
  CommandLine command_line(text);
  command_line.AddRequiredOption("role", "ROLE", "What it is.", &flags->role);
  command_line.AddRequiredOption("requests-fd", "FD", "Where requests come.",
                                 &flags->requests_fd);
  command_line.AddRequiredOption("elements", "N", "Of the model.",
                                 &flags->elements);
  command_line.AddOption("rank", "R", "Which worker.", &flags->rank);
  command_line.AddOption("workers", "N", "Of them.", &flags->workers);
  command_line.AddOption("connections", "N", "Of a raw worker.",
                         &flags->connections);
  command_line.AddOption("port", "PORT", "Of the raw server.", &flags->port);
  command_line.AddOption("job", "JOB", "Of the parameter server.", &flags->job);
  command_line.AddOption("server", "HOST:PORT", "The parameter server.",
                         &flags->server);
  command_line.AddOption("bucket-elements", "N", "Of a bucket.",
                         &flags->bucket_elements);
  command_line.AddOption("one-of", "N", "One element of so many is pushed.",
                         &flags->one_of);
  command_line.AddOption("total-pushes", "N", "That will be asked for.",
                         &flags->total_pushes);
  return command_line.Run(argc, argv);
}

// All processes of a machine share this clock.
int64_t SteadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Say(const absl::StatusOr<std::vector<int64_t>>& reply) {
  std::printf("%s\n", FormatReply(reply).c_str());
  std::fflush(stdout);
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
  options.server = flags.server;
  options.rank = static_cast<int>(flags.rank);
  options.elements = flags.elements;
  options.bucket_elements = flags.bucket_elements;
  options.one_of = flags.one_of;
  options.total_pushes = flags.total_pushes;
  return JoinParameterServer(options);
}

// The part of the work that is timed.
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

absl::StatusOr<std::vector<int64_t>> Do(const PeerRequest& request,
                                        DataPlane* plane) {
  const std::vector<int64_t> nothing;
  switch (request.verb) {
    case PeerRequest::kCheck:
      PS_RETURN_IF_ERROR(plane->Check(request.count));
      return nothing;
    case PeerRequest::kFinish:
      PS_RETURN_IF_ERROR(plane->Finish());
      return nothing;
    case PeerRequest::kPush:
    case PeerRequest::kPull:
      break;
  }
  PS_ASSIGN_OR_RETURN(const PeerTiming timing, Repeat(request, plane));
  return TimingNumbers(timing);
}

absl::Status ServeRawTcp(const Flags& flags, std::FILE* requests) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<RawTcpServer> server,
                      RawTcpServer::Start(flags.elements));
  Say(std::vector<int64_t>{server->port()});
  // Nothing is asked of it: its end is.
  while (std::fgetc(requests) != EOF) {
  }
  return absl::OkStatus();
}

absl::Status ServeRequests(const Flags& flags, std::FILE* requests) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<DataPlane> plane,
                      NewDataPlane(flags));
  Say(std::vector<int64_t>());
  char line[256];
  while (std::fgets(line, sizeof(line), requests) != nullptr) {
    PS_ASSIGN_OR_RETURN(const PeerRequest request,
                        ParseRequest(absl::StripSuffix(line, "\n")));
    PS_ASSIGN_OR_RETURN(const std::vector<int64_t> answer,
                        Do(request, plane.get()));
    Say(answer);
  }
  return absl::OkStatus();
}

}  // namespace

int RunPushPullPeer(int argc, char** argv) {
  Flags flags;
  if (const auto exit_code = ParseFlags(argc, argv, &flags)) return *exit_code;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> requests(
      fdopen(static_cast<int>(flags.requests_fd), "r"), &std::fclose);
  const absl::Status served =
      requests == nullptr            ? absl::InvalidArgumentError(absl::StrCat(
                                           "--requests-fd is ", flags.requests_fd,
                                           "; must be an open file descriptor"))
      : flags.role == kRawServerRole ? ServeRawTcp(flags, requests.get())
                                     : ServeRequests(flags, requests.get());
  if (served.ok()) return kExitDone;
  Say(served);
  return kExitFailed;
}

}  // namespace ps
