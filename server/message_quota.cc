#include "server/message_quota.h"

namespace ps {
namespace {

constexpr int64_t kBytesAConnection = int64_t{2} << 20;
constexpr int64_t kOtherBytes = int64_t{64} << 20;

}  // namespace

int64_t MessageQuotaBytes(const ClusterConfig& cluster,
                          int64_t credit_bytes_per_worker) {
  const int64_t a_worker =
      2 * credit_bytes_per_worker +
      (int64_t{cluster.connections()} + 1) * kBytesAConnection;
  return cluster.num_workers() * a_worker + kOtherBytes;
}

}  // namespace ps
