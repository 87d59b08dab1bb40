// The floor under a parameter server on one machine: the same floats over plain
// TCP, added up where they arrive, and nothing else. A few connections on the
// loopback interface, a thread at each end of each, messages of 1 MiB, no
// headers.
#ifndef TOOLS_BENCH_PUSH_PULL_RAW_TCP_H_
#define TOOLS_BENCH_PUSH_PULL_RAW_TCP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/bench/push_pull/data_plane.h"

namespace ps {

constexpr int64_t kRawMessageElements = int64_t{1} << 18;

// Holds the sum of all that was pushed, zero at first.
class RawTcpServer {
 public:
  // Listens at a free port of 127.0.0.1. Errors: what the system says.
  static absl::StatusOr<std::unique_ptr<RawTcpServer>> Start(int64_t elements);

  // Breaks the connections and ends their threads.
  virtual ~RawTcpServer() = default;

  virtual int port() const = 0;
};

struct RawTcpOptions {
  int port = 0;  // Of the server.
  int64_t elements = 0;
  int rank = 0;
  int num_workers = 1;
  int connections = 1;
};

// Errors: what the system says; the methods of the result say kUnavailable when
// the server goes.
absl::StatusOr<std::unique_ptr<DataPlane>> ConnectRawTcp(
    const RawTcpOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_RAW_TCP_H_
