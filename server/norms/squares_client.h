// How a server asks server 0 for norms over all servers.
#ifndef SERVER_NORMS_SQUARES_CLIENT_H_
#define SERVER_NORMS_SQUARES_CLIENT_H_

#include <memory>
#include <string>

#include "server/norms/server_squares.h"

namespace ps {

// Over a connection of its own to server 0, "host:port". Tries again while that
// cannot be reached: when it is gone for good, the workers end the job. The
// destructor stops it. Stop is for one thread.
std::unique_ptr<SquaresCaller> NewSquaresClient(const std::string& address);

}  // namespace ps

#endif  // SERVER_NORMS_SQUARES_CLIENT_H_
