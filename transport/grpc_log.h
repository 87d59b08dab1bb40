// Redirects gRPC's own log.
#ifndef TRANSPORT_GRPC_LOG_H_
#define TRANSPORT_GRPC_LOG_H_

namespace ps {

// From now on, gRPC's lines go to glog, its errors as warnings, and no more of
// them than LogLimit lets through: any peer that reaches a port can cause one
// with each connection.
void LimitGrpcLog();

}  // namespace ps

#endif  // TRANSPORT_GRPC_LOG_H_
