// Bounds the memory of a server by the config and the sizes of the model.
#ifndef SERVER_LIMITS_MEMORY_BOUND_H_
#define SERVER_LIMITS_MEMORY_BOUND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "transport/shard_map.h"

namespace ps {

// The share of a model that one server holds.
struct ServerPart {
  int64_t parameters = 0;
  int64_t statistics = 0;
  int64_t slices = 0;
  int64_t largest_slice = 0;  // The number of elements of the largest slice.

  void Add(const Slice& slice, bool is_statistics);
};

// Returns this server's share; the last buckets of the map hold statistics.
ServerPart PartOf(const ShardMap& map, int64_t num_averaged_buckets,
                  int server);

// The maximum number of concurrent calls on one connection.
constexpr int kMaxCallsPerConnection = 256;

// Returns the bytes that each worker may leave at each server for other
// workers: cluster.credit_megabytes if workers have stages, else nothing.
int64_t StageCreditBytes(const JobConfig& config);

// Returns the bytes that gRPC may use for all connections: twice the credits of
// all workers, because gRPC reads messages into buffers that are up to 1.9
// times as large, 2 MiB (two frames) for each connection of the job, and 64 MiB
// for everything else. A connection that would need more is not read from, or
// its call is ended with RESOURCE_EXHAUSTED.
int64_t MessageQuotaBytes(const ClusterConfig& cluster,
                          int64_t credit_bytes_per_worker);

// Returns the maximum size of an answer with new weights.
int64_t MaxAnswerBytes(const JobConfig& config, int64_t num_elements);

// Whether updates could not complete with less than the pushes of a whole
// iteration, because they need norms over all slices, because a worker whose
// push was dropped may be one update ahead of some slices, or because workers
// share positions.
bool NeedsWholeIterations(const JobConfig& config);

// Returns the bytes of one worker's pushes that a server holds:
// cluster.credit_megabytes, or those of four iterations if that is less (but
// 1 MiB), because no worker has more under way, and gRPC lets go of a message
// some time after its answer; at least those of a whole iteration if updates
// need that. Before the layout is known: cluster.credit_megabytes.
int64_t CreditBytes(const JobConfig& config, const ServerPart& part);

// Returns the bytes of answers to one worker that a server keeps until they are
// sent: one for each slice, and the credit.
int64_t AnswerCreditBytes(const JobConfig& config, const ServerPart& part);

// Bounds in bytes. None of them depends on data from a peer, except for the
// sizes of the model, which worker 0 sends.
struct MemoryBound {
  int64_t program = 0;   // Code, libraries, threads and their shared memory.
  int64_t weights = 0;   // Weights with all state that belongs to them.
  int64_t messages = 0;  // The bytes of MessageQuotaBytes.
  int64_t answers = 0;   // The AnswerCreditBytes of all workers.
  // The calls on all connections.
  int64_t calls = 0;
  // The copy of the weights that a snapshot writes.
  int64_t snapshot = 0;

  int64_t total() const {
    return program + weights + messages + answers + calls + snapshot;
  }
};

// Returns the bounds. While the server reads its log, at its start or for
// restarted workers, it also has a copy of the weights for each such worker,
// and, once for all of them, the log since their snapshot. Errors: those of
// creating the optimizer.
absl::StatusOr<MemoryBound> MemoryBoundOf(const JobConfig& config,
                                          const ServerPart& part);

// Returns "at most 410 MiB of memory: program 99, weights 2, ...".
std::string Describe(const MemoryBound& bound);

// Checks the number of calls. Errors: kInvalidArgument if a worker cannot have
// a call for each slice although updates need that (as for CreditBytes).
absl::Status CheckCalls(const JobConfig& config, const ServerPart& part);

// Checks the memory. Errors: kInvalidArgument if this machine, or its control
// group, has less than the job needs even without any messages.
absl::Status CheckMemory(const MemoryBound& bound, int64_t machine_bytes);

}  // namespace ps

#endif  // SERVER_LIMITS_MEMORY_BOUND_H_
