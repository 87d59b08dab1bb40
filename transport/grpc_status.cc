#include "transport/grpc_status.h"

#include <string>

namespace ps {
namespace {

constexpr size_t kMaxMessageBytes = 4096;

}  // namespace

// Both libraries use the numbers of google.rpc.Code.
absl::Status FromGrpcStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(
      static_cast<grpc::StatusCode>(status.code()),
      std::string(status.message().substr(0, kMaxMessageBytes)));
}

}  // namespace ps
