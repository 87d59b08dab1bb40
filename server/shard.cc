#include "server/shard.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/machine_limits.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "optimizers/optimizer.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

// The number of lines about unusual pushes, and the interval of further ones.
constexpr int kUnusualLines = 100;
constexpr absl::Duration kUnusualInterval = absl::Seconds(10);

// Waits for the answers of other threads.
class Countdown {
 public:
  explicit Countdown(size_t left) : left_(left) {}

  void Down() {
    MutexLock lock(&mu_);
    --left_;
    changed_.SignalAll();
  }

  void Wait() {
    MutexLock lock(&mu_);
    while (left_ > 0) changed_.Wait(&mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  size_t left_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

Shard::Shard(const JobConfig* config, int server_index,
             NewSquaresCaller new_caller, ScheduleWork schedule,
             const Clock* clock, const std::atomic<bool>* asked_to_stop,
             ServerLog* log)
    : config_(config),
      server_index_(server_index),
      config_fingerprint_(ConfigFingerprint(SharedConfigText(*config))),
      new_caller_(std::move(new_caller)),
      schedule_(std::move(schedule)),
      clock_(clock),
      asked_to_stop_(asked_to_stop),
      log_(log),
      about_pushes_(kUnusualLines, kUnusualInterval, clock),
      timer_(schedule_, clock) {}

absl::Status Shard::SetLayout(const ShardLayout& layout) {
  PS_RETURN_IF_ERROR(CheckLayout(layout));
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  if (!layout_.bucket_sizes.empty()) return SameLayout(layout);
  ShardMapOptions options;
  options.bucket_sizes = layout.bucket_sizes;
  options.num_averaged_buckets = layout.num_averaged_buckets;
  options.num_servers = config_->cluster().num_servers();
  options.max_slice_elements = MaxSliceElements(*config_);
  PS_ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(options));
  const ServerPart part =
      PartOf(map, layout.num_averaged_buckets, server_index_);
  PS_ASSIGN_OR_RETURN(const MemoryBound bound, MemoryBoundOf(*config_, part));
  PS_RETURN_IF_ERROR(CheckCalls(*config_, part));
  PS_RETURN_IF_ERROR(CheckMemory(bound, MachineMemoryBytes()));
  const TensorMap tensors(layout);
  std::map<std::pair<int, int>, SliceOptions> mine;
  ServerSquaresOptions squares;
  for (int b = 0; b < map.num_buckets(); ++b) {
    const bool averaged = b >= map.num_buckets() - layout.num_averaged_buckets;
    for (const Slice& slice : map.slices(b)) {
      std::vector<TensorStretch> stretches = tensors.Stretches(slice);
      if (!averaged) {
        SquaresSlice& part = squares.slices.emplace_back();
        part.server = slice.server;
        for (const TensorStretch& each : stretches) {
          part.tensors.push_back(each.tensor);
        }
      }
      if (slice.server != server_index_) continue;
      SliceOptions& made = mine[std::make_pair(b, slice.index)];
      made.config = config_;
      made.num_elements = slice.size();
      made.name = SliceName(b, slice.index);
      made.total_updates = layout.total_iterations;
      made.stop = asked_to_stop_;
      made.about_pushes = &about_pushes_;
      made.rule = averaged                 ? UpdateRule::kMean
                  : AnswersMeans(*config_) ? UpdateRule::kExchange
                                           : UpdateRule::kOptimizer;
      made.stretches = std::move(stretches);
      made.number = slice.number;
    }
  }
  squares.server_index = server_index_;
  squares.num_tensors = tensors.num_tensors();
  squares.config_fingerprint = config_fingerprint_;
  if (log_ != nullptr) {
    squares.log = [this](const SquaresRound& round,
                         const std::vector<Squares>& sums) {
      return log_->AppendNorms(round, sums);
    };
  }
  const bool needs_norms = NeedsNorms(config_->optimizer());
  std::unique_ptr<SquaresCaller> caller;
  if (needs_norms && server_index_ > 0 && new_caller_ != nullptr) {
    caller = new_caller_(config_->cluster().servers(0));
  }
  squares_ =
      std::make_unique<ServerSquares>(squares, std::move(caller), schedule_);
  std::map<std::pair<int, int>, std::unique_ptr<WeightSlice>> slices;
  for (const auto& [name, made] : mine) {
    slices[name] = std::make_unique<WeightSlice>(made, squares_.get(), &timer_,
                                                 clock_, log_);
  }
  slices_ = std::move(slices);
  layout_ = layout;
  part_ = part;
  return absl::OkStatus();
}

absl::Status Shard::CheckSameLayout(const ShardLayout& layout) const {
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  if (!layout_.bucket_sizes.empty()) return SameLayout(layout);
  return absl::UnavailableError(
      "worker 0, which brings the sizes of the model, "
      "has not registered yet");
}

absl::Status Shard::SameLayout(const ShardLayout& layout) const {
  if (layout == layout_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this worker has ", DescribeLayout(layout), "; worker 0 has ",
      DescribeLayout(layout_), ". Do both read the same data?"));
}

ShardLayout Shard::layout() const {
  MutexLock lock(&mu_);
  return layout_;
}

ServerPart Shard::part() const {
  MutexLock lock(&mu_);
  return part_;
}

std::map<std::string, WeightSlice*> Shard::SlicesByName() const {
  MutexLock lock(&mu_);
  std::map<std::string, WeightSlice*> slices;
  for (const auto& entry : slices_) {
    slices[entry.second->name()] = entry.second.get();
  }
  return slices;
}

absl::StatusOr<SnapshotParts> Shard::Save() {
  const std::map<std::string, WeightSlice*> slices = SlicesByName();
  std::vector<std::string> names;
  for (const auto& entry : slices) names.push_back(entry.first);
  std::vector<absl::StatusOr<std::string>> saved(slices.size());
  Countdown left(slices.size());
  for (size_t i = 0; i < names.size(); ++i) {
    slices.at(names[i])->Save([&, i](const absl::StatusOr<std::string>& state) {
      saved[i] = state;
      left.Down();
    });
  }
  left.Wait();
  SnapshotParts parts;
  for (size_t i = 0; i < names.size(); ++i) {
    PS_RETURN_IF_ERROR(Annotate(saved[i].status(), names[i]));
    parts[names[i]] = *std::move(saved[i]);
  }
  return parts;
}

absl::Status Shard::ForEachHistory(
    SnapshotParts saved, const std::shared_ptr<const LoggedJob>& logged,
    const std::function<void(WeightSlice*, std::string,
                             std::shared_ptr<const SliceHistory>, DoneLoading)>&
        load) {
  const std::map<std::string, WeightSlice*> slices = SlicesByName();
  if (!saved.empty() && slices.size() != saved.size()) {
    return absl::DataLossError(absl::StrCat("the snapshot has ", saved.size(),
                                            " slices; this server holds ",
                                            slices.size()));
  }
  for (const auto& entry : logged->slices) {
    if (slices.count(entry.first) > 0) continue;
    return absl::DataLossError(
        absl::StrCat("the log has ", entry.first, ", which is unknown"));
  }
  static const SliceHistory* const nothing = new SliceHistory;
  std::vector<std::function<void(DoneLoading done)>> loads;
  std::vector<std::string> names;
  for (const auto& [name, slice] : slices) {
    const auto part = saved.find(name);
    if (part == saved.end() && !saved.empty()) {
      return absl::DataLossError(absl::StrCat("the snapshot lacks ", name));
    }
    const auto found = logged->slices.find(name);
    if (part == saved.end() && found == logged->slices.end()) continue;
    // This history keeps the whole log alive.
    std::shared_ptr<const SliceHistory> history(
        logged, found == logged->slices.end() ? nothing : &found->second);
    names.push_back(name);
    loads.emplace_back(
        [&load, slice = slice, history,
         bytes = part == saved.end() ? std::string() : std::move(part->second)](
            DoneLoading done) mutable {
          load(slice, std::move(bytes), std::move(history), std::move(done));
        });
  }
  const auto num_loads = static_cast<int64_t>(loads.size());
  std::vector<absl::Status> loaded(loads.size());
  ThreadPool threads(config_->machine().server_threads());
  threads.ParallelFor(num_loads, 1, [&](const ChunkRange& range) {
    Countdown left(1);
    loads[range.begin]([&](const absl::Status& status) {
      loaded[range.begin] = Annotate(status, names[range.begin]);
      left.Down();
    });
    left.Wait();
  });
  for (const absl::Status& status : loaded) PS_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status Shard::Rewind(int rank, SnapshotParts saved,
                           const std::shared_ptr<const LoggedJob>& logged) {
  return ForEachHistory(
      std::move(saved), logged,
      [rank](WeightSlice* slice, std::string part,
             std::shared_ptr<const SliceHistory> history, DoneLoading done) {
        slice->Rewind(rank, std::move(part), std::move(history),
                      std::move(done));
      });
}

absl::Status Shard::Load(SnapshotParts saved,
                         const std::shared_ptr<const LoggedJob>& logged) {
  PS_RETURN_IF_ERROR(ForEachHistory(
      std::move(saved), logged,
      [](WeightSlice* slice, std::string part,
         std::shared_ptr<const SliceHistory> history, DoneLoading done) {
        slice->Load(std::move(part), std::move(history), std::move(done));
      }));
  PS_ASSIGN_OR_RETURN(ServerSquares* const exchange, squares());
  for (const auto& [round, sums] : logged->norms) {
    PS_RETURN_IF_ERROR(exchange->Keep(round, sums));
  }
  return absl::OkStatus();
}

void Shard::Stop() {
  timer_.Stop();
  ServerSquares* squares = nullptr;
  {
    MutexLock lock(&mu_);
    squares = squares_.get();
  }
  if (squares != nullptr) squares->Stop();
}

absl::StatusOr<ServerSquares*> Shard::squares() const {
  MutexLock lock(&mu_);
  if (squares_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("server ", server_index_, " does not know the model yet"));
  }
  return squares_.get();
}

absl::StatusOr<WeightSlice*> Shard::Find(int bucket, int slice) const {
  MutexLock lock(&mu_);
  const auto it = slices_.find(std::make_pair(bucket, slice));
  if (it == slices_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("server ", server_index_, " does not hold slice ", slice,
                     " of bucket ", bucket));
  }
  return it->second.get();
}

std::vector<WeightSlice*> Shard::Slices() const {
  MutexLock lock(&mu_);
  std::vector<WeightSlice*> slices;
  for (const auto& entry : slices_) slices.push_back(entry.second.get());
  return slices;
}

void Shard::WorkerGone(int rank) {
  // This is called without the lock: a slice may run an update and answer all
  // waiting calls.
  for (WeightSlice* slice : Slices()) slice->WorkerGone(rank);
}

int64_t Shard::JoinsAt(int rank) const {
  int64_t pushes = 0;
  for (const WeightSlice* slice : Slices()) {
    if (slice->rule() == UpdateRule::kMean) continue;
    pushes = std::max(pushes, slice->JoinsAt(rank));
  }
  return pushes;
}

void Shard::Join(int rank, int64_t pushes, int64_t averagings) {
  for (WeightSlice* slice : Slices()) {
    slice->Join(rank, slice->rule() == UpdateRule::kMean ? averagings : pushes);
  }
}

void Shard::Fail(const absl::Status& failure) {
  ServerSquares* squares = nullptr;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    squares = squares_.get();
  }
  for (WeightSlice* slice : Slices()) slice->Fail(failure);
  if (squares != nullptr) squares->Fail(failure);
}

WeightSlice* Shard::Slowest() const {
  MutexLock lock(&mu_);
  WeightSlice* slowest = nullptr;
  int64_t version = 0;
  for (const auto& entry : slices_) {
    // Statistics have their own count of updates.
    if (entry.second->rule() == UpdateRule::kMean) continue;
    const int64_t mine = entry.second->version();
    if (slowest != nullptr && mine >= version) continue;
    slowest = entry.second.get();
    version = mine;
  }
  return slowest;
}

int64_t Shard::version() const {
  const WeightSlice* const slowest = Slowest();
  return slowest == nullptr ? -1 : slowest->version();
}

std::set<int> Shard::AwaitedRanks() const {
  const WeightSlice* const slowest = Slowest();
  return slowest == nullptr ? std::set<int>() : slowest->AwaitedRanks();
}

}  // namespace ps
