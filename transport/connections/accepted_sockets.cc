#include "transport/connections/accepted_sockets.h"

#include <utility>

namespace ps {

Acceptor::Take TakeSockets(
    const std::shared_ptr<grpc::ServerCredentials>& credentials,
    grpc::ServerBuilder* builder) {
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> handler =
      builder->experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::
              FROM_FD,
          credentials);
  return [handler = std::shared_ptr(std::move(handler))](int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
        connection;
    connection.fd = fd;
    handler->HandleNewConnection(&connection);
  };
}

}  // namespace ps
