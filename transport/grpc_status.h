// absl::Status on our side, grpc::Status on gRPC's: converted here, both ways.
#ifndef TRANSPORT_GRPC_STATUS_H_
#define TRANSPORT_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace ps {

absl::Status FromGrpcStatus(const grpc::Status& status);
// A message longer than 4 KiB is cut: it travels in a header, which has limits.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace ps

#endif  // TRANSPORT_GRPC_STATUS_H_
