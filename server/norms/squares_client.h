// Connects a server to server 0 for norms over all servers.
#ifndef SERVER_NORMS_SQUARES_CLIENT_H_
#define SERVER_NORMS_SQUARES_CLIENT_H_

#include <memory>
#include <string>

#include "grpcpp/security/credentials.h"
#include "server/norms/server_squares.h"

namespace ps {

// Connects to server 0 at `address`, as in cluster.servers. Retries while that
// cannot be reached: if it is gone for good, the workers end the job. The
// destructor calls Stop. Only one thread may call Stop.
std::unique_ptr<SquaresCaller> NewSquaresClient(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials);

}  // namespace ps

#endif  // SERVER_NORMS_SQUARES_CLIENT_H_
