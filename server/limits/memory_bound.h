// The memory of a server, as the config and the sizes of the model decide it.
#ifndef SERVER_LIMITS_MEMORY_BOUND_H_
#define SERVER_LIMITS_MEMORY_BOUND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "transport/shard_map.h"

namespace ps {

// The part of a model that one server holds.
struct ServerPart {
  int64_t parameters = 0;
  int64_t statistics = 0;
  int64_t slices = 0;
  int64_t largest_slice = 0;  // Elements.

  void Add(const Slice& slice, bool is_statistics);
};

// Of this server, if the last buckets of the map hold statistics.
ServerPart PartOf(const ShardMap& map, int64_t num_averaged_buckets,
                  int server);

// Calls that may be under way on one connection.
constexpr int kMaxCallsPerConnection = 256;

// What each worker may leave at each server for other workers: as much as
// cluster.credit_megabytes if workers have stages, else nothing.
int64_t StageCreditBytes(const JobConfig& config);

// The bytes that gRPC may use for all connections: twice the credits of all
// workers, because gRPC reads messages into buffers that are up to 1.9 times as
// large, 2 MiB (two frames) for each connection of the job, and 64 MiB for
// everything else. A connection that would need more is not read from, or its
// call is ended with RESOURCE_EXHAUSTED.
int64_t MessageQuotaBytes(const ClusterConfig& cluster,
                          int64_t credit_bytes_per_worker);

// The most bytes that an answer with new weights takes.
int64_t MaxAnswerBytes(const JobConfig& config, int64_t num_elements);

// The pushes of one worker that a server holds: cluster.credit_megabytes, but
// those of a whole iteration if updates could not complete with less, because
// they need norms over all slices, because a worker that was left out of an
// update may be one update ahead of some slices, or because workers share
// positions.
int64_t CreditBytes(const JobConfig& config, const ServerPart& part);

// The answers to one worker that a server keeps until they are sent: one for
// each slice, and the credit.
int64_t AnswerCreditBytes(const JobConfig& config, const ServerPart& part);

// Bytes; none of them depends on what a peer sends, but for the sizes of the
// model, which worker 0 brings.
struct MemoryBound {
  int64_t program = 0;   // Code, libraries, threads and what these share.
  int64_t weights = 0;   // And all that belongs to them.
  int64_t messages = 0;  // MessageQuotaBytes.
  int64_t answers = 0;   // AnswerCreditBytes of all workers.
  // Calls under way on all connections that there may be.
  int64_t calls = 0;
  // The copy of the weights that a snapshot writes.
  int64_t snapshot = 0;

  int64_t total() const {
    return program + weights + messages + answers + calls + snapshot;
  }
};

// What is kept while the server reads its log, at its start or for workers that
// were started again, comes on top: a copy of the weights for each such worker,
// and, once for all of them, the log since their snapshot. Errors: those of
// making the optimizer.
absl::StatusOr<MemoryBound> MemoryBoundOf(const JobConfig& config,
                                          const ServerPart& part);

// "at most 410 MiB of memory: program 99, weights 2, ...".
std::string Describe(const MemoryBound& bound);

// Errors: kInvalidArgument if a worker cannot have a call under way for each
// slice although updates need that (as for CreditBytes).
absl::Status CheckCalls(const JobConfig& config, const ServerPart& part);

// Errors: kInvalidArgument if this machine, or its control group, has less
// memory than the job needs even if nobody sends anything.
absl::Status CheckMemory(const MemoryBound& bound, int64_t machine_bytes);

}  // namespace ps

#endif  // SERVER_LIMITS_MEMORY_BOUND_H_
