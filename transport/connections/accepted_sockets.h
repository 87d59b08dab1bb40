// Gives a gRPC server its connections from an Acceptor.
#ifndef TRANSPORT_CONNECTIONS_ACCEPTED_SOCKETS_H_
#define TRANSPORT_CONNECTIONS_ACCEPTED_SOCKETS_H_

#include <memory>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "transport/connections/acceptor.h"

namespace ps {

// Prepares the server; call it before builder->BuildAndStart(). The result is
// for Acceptor::Run, once the server runs.
Acceptor::Take TakeSockets(
    const std::shared_ptr<grpc::ServerCredentials>& credentials,
    grpc::ServerBuilder* builder);

}  // namespace ps

#endif  // TRANSPORT_CONNECTIONS_ACCEPTED_SOCKETS_H_
