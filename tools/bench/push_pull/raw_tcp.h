// A lower bound for the time of a parameter server on one machine: the same
// floats over plain TCP, added up as they arrive, and nothing else. It uses a
// few connections on the loopback interface with a thread at each end, messages
// of 1 MiB, and no headers.
#ifndef TOOLS_BENCH_PUSH_PULL_RAW_TCP_H_
#define TOOLS_BENCH_PUSH_PULL_RAW_TCP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/bench/push_pull/data_plane.h"

namespace ps {

constexpr int64_t kRawMessageElements = int64_t{1} << 18;

// Holds the sum of everything that was pushed, which is 0 at first.
class RawTcpServer {
 public:
  // Listens at a free port of 127.0.0.1. Errors: those of the system.
  static absl::StatusOr<std::unique_ptr<RawTcpServer>> Start(int64_t elements);

  // Breaks the connections and ends their threads.
  virtual ~RawTcpServer() = default;

  virtual int port() const = 0;
};

// Errors: those of the system. The methods of the result return kUnavailable
// when the server is gone.
absl::StatusOr<std::unique_ptr<DataPlane>> ConnectRawTcp(
    const DataPlaneOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_RAW_TCP_H_
