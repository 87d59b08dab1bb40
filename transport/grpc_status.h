// Converts between absl::Status and grpc::Status.
#ifndef TRANSPORT_GRPC_STATUS_H_
#define TRANSPORT_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace ps {

absl::Status FromGrpcStatus(const grpc::Status& status);
// Converts a status. Truncates a message longer than 4 KiB, because it is sent
// in a header, whose size is limited.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace ps

#endif  // TRANSPORT_GRPC_STATUS_H_
