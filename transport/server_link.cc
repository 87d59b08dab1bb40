#include "transport/server_link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "grpcpp/client_context.h"
#include "transport/channel.h"
#include "transport/grpc_status.h"
#include "transport/unix_socket.h"

namespace ps {
namespace {

// Short enough to log regularly which server this worker waits for. Meanwhile
// gRPC waits for the connection.
constexpr absl::Duration kRegisterDeadline = absl::Seconds(2);

}  // namespace

ServerLink::ServerLink(const ServerLinkOptions& options)
    : options_(options), window_(options.credit_bytes) {
  channels_.push_back(
      MakeChannel(options_.address, options_.max_message_bytes));
  stub_ = ParameterServer::NewStub(channels_[0]);
}

std::string ServerLink::Name() const {
  return absl::StrCat("server ", options_.index, " at ", options_.address);
}

absl::Status ServerLink::Register(RegisterRequest request) {
  request.set_server_index(options_.index);
  const absl::Time start = absl::Now();
  const absl::Time give_up = start + options_.startup_timeout;
  absl::Time say_next = start + options_.patience;
  absl::Status last = absl::OkStatus();
  while (absl::Now() < give_up) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(
        absl::Now() + std::min(kRegisterDeadline, give_up - absl::Now())));
    RegisterResponse response;
    last = FromGrpcStatus(stub_->Register(&context, request, &response));
    if (last.ok()) {
      OpenDataConnections(response.unix_socket());
      window_.set_credit_bytes(
          std::max(options_.credit_bytes, response.credit_bytes()));
      return last;
    }
    if (!absl::IsUnavailable(last) && !absl::IsDeadlineExceeded(last)) {
      return Annotate(last, Name());
    }
    if (absl::Now() >= say_next) {
      LOG(INFO) << "waiting for " << Name() << " since "
                << absl::FormatDuration(
                       absl::Trunc(absl::Now() - start, absl::Seconds(1)));
      say_next += options_.patience;
    }
  }
  return absl::DeadlineExceededError(absl::StrCat(
      Name(), " cannot be reached after ",
      absl::FormatDuration(options_.startup_timeout), " (", last.message(),
      "); is it running there, and is cluster.servers[", options_.index,
      "] its address?"));
}

void ServerLink::OpenDataConnections(const std::string& unix_socket) {
  const bool local = options_.unix_sockets && UnixSocketAnswers(unix_socket);
  const std::string address =
      local ? UnixSocketAddress(unix_socket) : options_.address;
  for (int i = 0; i < options_.connections; ++i) {
    channels_.push_back(MakeChannel(address, options_.max_message_bytes));
    data_stubs_.push_back(
        std::make_unique<grpc::GenericStub>(channels_.back()));
  }
}

void ServerLink::Attend(const WorkerId& worker, std::function<void()> changed) {
  attendance_ =
      std::make_unique<Attendance>(stub_.get(), worker, std::move(changed));
}

}  // namespace ps
