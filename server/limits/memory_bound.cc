#include "server/limits/memory_bound.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "optimizers/optimizer.h"
#include "server/limits/connection_limits.h"
#include "server/slices/downlink_choice.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kBytesAConnection = 2 * kMebibyte;
constexpr int64_t kOtherBytes = 64 * kMebibyte;
// The program takes 22 MiB at the start of a server with 2 threads (measured),
// plus the memory that its allocator keeps for each thread.
constexpr int64_t kProgramBytes = 64 * kMebibyte;
constexpr int64_t kBytesAThread = 4 * kMebibyte;
// The bytes per element of a thread's shared scratch memory: gradient, index,
// count, and the compressor's.
constexpr int64_t kSharedBytesAnElement = 32;
// The bytes per slice: names, segments, and for each worker its progress.
constexpr int64_t kBytesASlice = 4096;
constexpr int64_t kBytesAWorkerOfASlice = 512;

constexpr int64_t kBytesACall = 8192;
// The memory of calls accepted before server/limits/call_watch.h reacts.
constexpr int64_t kBurstSlackBytes = 160 * kMebibyte;
// The calls to attend, to register, and to ask for the status.
constexpr int kOtherCalls = 16;

bool WorkersSharePositions(const JobConfig& config) {
  return SharesPositions(config.compressor(), config.cluster().num_workers());
}

// Returns the bounds of the compressor's server-side codec in a slice.
SliceCoderBytes CoderBytes(const JobConfig& config, int64_t num_elements) {
  const CompressorPlugin plugin = FindCompressor(config.compressor().name());
  if (plugin.slice_coder_bytes == nullptr || !WorkersSharePositions(config)) {
    return SliceCoderBytes();
  }
  SliceCoderOptions options;
  options.config = config.compressor();
  options.num_elements = num_elements;
  options.num_workers = config.cluster().num_workers();
  return plugin.slice_coder_bytes(options);
}

// Returns the number of the optimizer's state arrays as large as the weights.
absl::StatusOr<int64_t> StateArrays(const OptimizerConfig& config) {
  OptimizerOptions options;
  options.config = config;
  options.num_elements = 1;
  options.stretches = {TensorStretch()};
  options.stretches[0].end = 1;
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Optimizer> optimizer,
                      NewOptimizer(options));
  return static_cast<int64_t>(optimizer->State().size());
}

int64_t CreditOf(const ClusterConfig& cluster) {
  return static_cast<int64_t>(cluster.credit_megabytes() * kMebibyte);
}

int64_t Mebibytes(int64_t bytes) { return (bytes + kMebibyte - 1) / kMebibyte; }

}  // namespace

void ServerPart::Add(const Slice& slice, bool is_statistics) {
  (is_statistics ? statistics : parameters) += slice.size();
  slices += 1;
  largest_slice = std::max(largest_slice, slice.size());
}

ServerPart PartOf(const ShardMap& map, int64_t num_averaged_buckets,
                  int server) {
  ServerPart part;
  for (int b = 0; b < map.num_buckets(); ++b) {
    for (const Slice& slice : map.slices(b)) {
      if (slice.server != server) continue;
      part.Add(slice, b >= map.num_buckets() - num_averaged_buckets);
    }
  }
  return part;
}

int64_t StageCreditBytes(const JobConfig& config) {
  return WorkersHaveStages(config) ? CreditOf(config.cluster()) : 0;
}

int64_t MessageQuotaBytes(const ClusterConfig& cluster,
                          int64_t credit_bytes_per_worker) {
  const int64_t a_worker =
      2 * credit_bytes_per_worker +
      (int64_t{cluster.connections()} + 1) * kBytesAConnection;
  return cluster.num_workers() * a_worker + kOtherBytes;
}

int64_t MaxAnswerBytes(const JobConfig& config, int64_t num_elements) {
  // A worker that holds other weights gets all of them, which are then no
  // longer than the changes. A difference may have indices of four bytes.
  const bool differences = SendsDifferences(ChosenDownlink(config));
  return kMaxSliceHeaderBytes + CoderBytes(config, 0).remark +
         (differences ? 2 : 1) * DensePayloadBytes(num_elements);
}

bool NeedsWholeIterations(const JobConfig& config) {
  return NeedsNorms(config.optimizer()) || MayLeaveOut(config) ||
         WorkersSharePositions(config);
}

int64_t CreditBytes(const JobConfig& config, const ServerPart& part) {
  const int64_t credit = CreditOf(config.cluster());
  if (part.slices == 0) return credit;
  const int64_t iteration =
      MaxSliceMessageBytes(part.parameters + part.statistics) +
      part.slices * MaxSliceMessageBytes(0);
  const int64_t least = NeedsWholeIterations(config) ? iteration : 0;
  return std::clamp(credit, least, std::max(4 * iteration, kMebibyte));
}

int64_t AnswerCreditBytes(const JobConfig& config, const ServerPart& part) {
  return MaxAnswerBytes(config, part.parameters + part.statistics) +
         part.slices * MaxAnswerBytes(config, 0) + CreditBytes(config, part);
}

absl::StatusOr<MemoryBound> MemoryBoundOf(const JobConfig& config,
                                          const ServerPart& part) {
  PS_ASSIGN_OR_RETURN(const int64_t state, StateArrays(config.optimizer()));
  const int64_t workers = config.cluster().num_workers();
  const bool each_push = UpdatesByEachPush(config);
  // The bytes per parameter of weights and state, the lists of changes (half as
  // many indices as elements), and the last answer, if that is not the weights
  // themselves.
  int64_t a_parameter = 4 + 4 * state + 2 + 4;
  // The workers' weights, their change, and the compressor's state.
  if (SendsDifferences(ChosenDownlink(config))) a_parameter += 4 * 4;
  // The positions of the last mean.
  if (AnswersMeans(config)) a_parameter += 4;
  // The server keeps the positions of two iterations.
  if (WorkersSharePositions(config)) a_parameter += 2 * 4;
  const int64_t a_statistic = 4 + 4 + (each_push ? 4 * workers : 0);
  const int64_t a_slice = kBytesASlice + workers * kBytesAWorkerOfASlice;
  const int64_t saved = part.parameters * a_parameter +
                        part.statistics * a_statistic + part.slices * a_slice;
  MemoryBound bound;
  bound.weights =
      saved + part.slices * CoderBytes(config, part.largest_slice).memory;
  // Mean gradients, their indices and steps wait for norms over all slices.
  if (NeedsNorms(config.optimizer())) bound.weights += 12 * part.parameters;
  const int64_t threads = config.machine().server_threads();
  bound.program =
      kProgramBytes +
      threads * (kBytesAThread + kSharedBytesAnElement * part.largest_slice);
  bound.messages = MessageQuotaBytes(
      config.cluster(), CreditBytes(config, part) + StageCreditBytes(config));
  bound.answers = workers * AnswerCreditBytes(config, part);
  bound.calls =
      MaxConnections(config.cluster()) * kMaxCallsPerConnection * kBytesACall +
      kBurstSlackBytes;
  if (KeepsSnapshots(config)) bound.snapshot = saved;
  return bound;
}

std::string Describe(const MemoryBound& bound) {
  return absl::StrCat(
      "at most ", Mebibytes(bound.total()), " MiB of memory: program ",
      Mebibytes(bound.program), ", weights ", Mebibytes(bound.weights),
      ", messages ", Mebibytes(bound.messages), ", answers ",
      Mebibytes(bound.answers), ", calls ", Mebibytes(bound.calls),
      ", snapshot ", Mebibytes(bound.snapshot));
}

absl::Status CheckCalls(const JobConfig& config, const ServerPart& part) {
  const int64_t calls = int64_t{config.cluster().connections()} *
                        (kMaxCallsPerConnection - kOtherCalls);
  if (part.slices <= calls || !NeedsWholeIterations(config)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "this server has ", part.slices, " slices, and a worker can push ", calls,
      " at a time, which must be all of them in a job whose updates need "
      "norms or may leave workers out, or whose workers share positions; raise "
      "cluster.connections or "
      "training.bucket_megabytes"));
}

absl::Status CheckMemory(const MemoryBound& bound, int64_t machine_bytes) {
  const int64_t needs = bound.program + bound.weights + bound.snapshot;
  if (needs <= machine_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "this server's part of the model takes ", Mebibytes(needs),
      " MiB of memory, and the server may use ", Mebibytes(machine_bytes),
      " MiB; give it more, or add servers"));
}

}  // namespace ps
