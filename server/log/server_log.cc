#include "server/log/server_log.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/entropy.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "glog/logging.h"
#include "storage/snapshot.h"

namespace ps {
namespace {

constexpr absl::string_view kPrefix = "log-";
constexpr absl::string_view kIncomplete = "-incomplete";

std::string PathOf(const std::string& folder, int64_t number, uint64_t epoch) {
  return absl::StrCat(folder, "/", kPrefix, number, "-",
                      absl::Hex(epoch, absl::kZeroPad16));
}

// Parses the name of a segment; nullopt for any other name.
std::optional<LogSegment> ParseName(absl::string_view name) {
  LogSegment segment;
  if (!absl::ConsumePrefix(&name, kPrefix)) return std::nullopt;
  segment.complete = !absl::ConsumeSuffix(&name, kIncomplete);
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  if (parts.size() != 2 || parts[1].size() != 16 ||
      !absl::SimpleAtoi(parts[0], &segment.number) ||
      !absl::SimpleHexAtoi(parts[1], &segment.epoch)) {
    return std::nullopt;
  }
  return segment;
}

std::vector<absl::string_view> ViewsOf(const PayloadPieces& pieces) {
  std::vector<absl::string_view> views;
  for (const absl::Span<const uint8_t> piece : pieces) {
    views.emplace_back(reinterpret_cast<const char*>(piece.data()),
                       piece.size());
  }
  return views;
}

// Returns the beginning of a record: the length of the entry, and the entry.
std::string HeadOf(const LogEntry& entry) {
  const std::string bytes = entry.SerializeAsString();
  const auto size = static_cast<uint32_t>(bytes.size());
  std::string head;
  for (int shift = 0; shift < 32; shift += 8) {
    head += static_cast<char>(size >> shift & 0xff);
  }
  return head + bytes;
}

// Adds advice to an error of the log. Its code does not make a caller retry,
// whatever the file system's is.
absl::Status Explained(const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(absl::IsResourceExhausted(status)
                          ? absl::StatusCode::kResourceExhausted
                          : absl::StatusCode::kInternal,
                      absl::StrCat(status.message(),
                                   "; the server cannot write down its "
                                   "updates, so the job ends. Make room or "
                                   "mend it, or set checkpoint.durability: "
                                   "SNAPSHOTS"));
}

}  // namespace

absl::StatusOr<std::vector<LogSegment>> ListLogSegments(
    Files* files, const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = files->List(folder);
  if (absl::IsNotFound(names.status())) return std::vector<LogSegment>();
  PS_RETURN_IF_ERROR(names.status());
  std::multimap<int64_t, LogSegment> segments;
  for (const std::string& name : *names) {
    std::optional<LogSegment> segment = ParseName(name);
    if (!segment.has_value()) continue;
    segment->path = absl::StrCat(folder, "/", name);
    segments.emplace(segment->number, *std::move(segment));
  }
  std::vector<LogSegment> in_order;
  for (auto& entry : segments) in_order.push_back(std::move(entry.second));
  return in_order;
}

absl::StatusOr<std::unique_ptr<ServerLog>> ServerLog::Open(
    const ServerLogOptions& options) {
  std::unique_ptr<ServerLog> log(new ServerLog(options));
  PS_ASSIGN_OR_RETURN(const std::vector<LogSegment> segments,
                      ListLogSegments(options.files, options.folder));
  if (!segments.empty() && segments.back().complete) {
    log->latest_ = segments.back();
  }
  return log;
}

absl::StatusOr<LoggedJob> ServerLog::Read(int64_t from) const {
  PS_ASSIGN_OR_RETURN(const std::vector<LogSegment> segments,
                      ListLogSegments(options_.files, options_.folder));
  return ReadLog(options_.files, segments, from);
}

absl::StatusOr<std::vector<int64_t>> ServerLog::Beginnings() const {
  PS_ASSIGN_OR_RETURN(const std::vector<LogSegment> segments,
                      ListLogSegments(options_.files, options_.folder));
  std::vector<int64_t> numbers;
  for (const LogSegment& segment : segments) {
    if (!segment.complete) {
      numbers.clear();
    } else {
      numbers.push_back(segment.number);
    }
  }
  return numbers;
}

absl::Status ServerLog::Continue() { return GoOnBehind(*latest_); }

absl::Status ServerLog::GoOnBehind(const LogSegment& segment) {
  PS_ASSIGN_OR_RETURN(const RecordLogReader reader,
                      RecordLogReader::Open(options_.files, segment.path));
  PS_ASSIGN_OR_RETURN(RecordLogWriter writer, reader.Continue(options_.files));
  // The records of an earlier process may not have reached the disk.
  if (options_.sync) PS_RETURN_IF_ERROR(writer.Sync());
  MutexLock lock(&mu_);
  failure_ = absl::OkStatus();
  segment_ = segment;
  writer_ = std::make_shared<RecordLogWriter>(std::move(writer));
  return absl::OkStatus();
}

absl::Status ServerLog::GiveUp() {
  return options_.files->Rename(latest_->path,
                                absl::StrCat(latest_->path, kIncomplete));
}

absl::Status ServerLog::Begin(int64_t number, uint64_t epoch,
                              const RegisterRequest& layout) {
  return Explained(TryBegin(number, epoch, layout));
}

absl::Status ServerLog::TryBegin(int64_t number, uint64_t epoch,
                                 const RegisterRequest& layout) {
  // A deleted folder is created anew; all state is in memory.
  PS_RETURN_IF_ERROR(options_.files->MakeFolder(options_.folder));
  PS_ASSIGN_OR_RETURN(const std::vector<LogSegment> segments,
                      ListLogSegments(options_.files, options_.folder));
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> snapshots,
                      ListSnapshots(options_.files, options_.folder));
  for (const LogSegment& segment : segments) {
    const bool needed = snapshots.empty() || segment.number >= snapshots[0];
    if (needed && segment.number < number) continue;
    PS_RETURN_IF_ERROR(options_.files->Remove(segment.path));
  }
  LogSegment segment;
  segment.number = number;
  segment.epoch = epoch;
  segment.path = PathOf(options_.folder, number, epoch);
  // The final name comes later, so that a segment has a whole first record.
  const std::string unfinished = absl::StrCat(segment.path, ".unfinished");
  PS_RETURN_IF_ERROR(options_.files->Remove(unfinished));
  {
    PS_ASSIGN_OR_RETURN(RecordLogWriter writer,
                        RecordLogWriter::Create(options_.files, unfinished));
    LogEntry entry;
    *entry.mutable_beginning()->mutable_layout() = layout;
    entry.mutable_beginning()->set_protocol(kProtocol);
    entry.mutable_beginning()->set_boot(BootId());
    PS_RETURN_IF_ERROR(writer.Append({HeadOf(entry)}));
    if (options_.sync) PS_RETURN_IF_ERROR(writer.Sync());
  }
  PS_RETURN_IF_ERROR(options_.files->Rename(unfinished, segment.path));
  return GoOnBehind(segment);
}

absl::Status ServerLog::AppendInitialWeights(const std::string& slice,
                                             const PayloadPieces& weights) {
  LogEntry entry;
  entry.mutable_first()->set_slice(slice);
  return Append(entry, ViewsOf(weights));
}

absl::Status ServerLog::AppendUpdate(const std::string& slice, int64_t version,
                                     const UpdateRecord& update) {
  LogEntry entry;
  LoggedUpdate* const logged = entry.mutable_update();
  logged->set_slice(slice);
  logged->set_version(version);
  logged->set_stop(update.stop);
  logged->set_num_totals(static_cast<int>(update.totals.size()));
  std::vector<absl::string_view> payloads;
  for (const WorkerPush& push : update.pushes) {
    LoggedPush* const one = logged->add_pushes();
    one->set_rank(push.rank);
    one->set_iteration(push.iteration);
    one->set_loss(push.loss);
    one->set_count(push.count);
    one->set_dense(push.dense);
    one->set_message_bytes(push.message_bytes);
    one->set_base_version(push.base_version);
    one->set_samples(push.samples);
    if (push.compress_next.has_value()) {
      one->set_compress_next(*push.compress_next);
    }
    int64_t bytes = 0;
    for (const absl::string_view piece : ViewsOf(push.payload.pieces)) {
      bytes += static_cast<int64_t>(piece.size());
      payloads.push_back(piece);
    }
    one->set_payload_bytes(bytes);
  }
  return Append(entry, payloads);
}

absl::Status ServerLog::AppendNorms(const SquaresRound& round,
                                    const std::vector<Squares>& sums) {
  LogEntry entry;
  LoggedNorms* const norms = entry.mutable_norms();
  norms->set_update(round.update);
  norms->set_stage(round.stage);
  for (const Squares& sum : sums) {
    norms->add_weights(sum.weights);
    norms->add_gradient(sum.gradient);
    norms->add_step(sum.step);
  }
  return Append(entry, {});
}

absl::Status ServerLog::Append(const LogEntry& entry,
                               const std::vector<absl::string_view>& payloads) {
  const absl::Time start = SteadyClock()->Now();
  int64_t bytes = 0;
  int64_t written = 0;
  absl::Status status = Write(entry, payloads, &bytes, &written);
  if (status.ok() && options_.sync) status = SyncUpTo(written);
  if (bytes > 0 && options_.appended != nullptr) {
    options_.appended(SteadyClock()->Now() - start, bytes);
  }
  return Explained(status);
}

absl::Status ServerLog::Write(const LogEntry& entry,
                              const std::vector<absl::string_view>& payloads,
                              int64_t* bytes, int64_t* written) {
  const std::string head = HeadOf(entry);
  std::vector<absl::string_view> pieces = {head};
  int64_t size = 0;
  for (const absl::string_view payload : payloads) {
    pieces.push_back(payload);
    size += static_cast<int64_t>(payload.size());
  }
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  if (writer_ == nullptr) return absl::OkStatus();
  if (writer_->size_bytes() + size > options_.max_bytes) {
    LOG(WARNING)
        << segment_.path << " has reached " << (options_.max_bytes >> 20)
        << " MiB (checkpoint.log_megabytes): until the next snapshot, a server "
           "that is killed sends the job back to its latest one. A smaller "
           "checkpoint.every or a larger limit may prevent that";
    writer_ = nullptr;
    const std::string incomplete = absl::StrCat(segment_.path, kIncomplete);
    failure_ = options_.files->Rename(segment_.path, incomplete);
    // The empty file cannot be used, but shows that there was a log.
    if (failure_.ok()) {
      failure_ = options_.files->Continue(incomplete, 0).status();
    }
    return failure_;
  }
  const int64_t before = writer_->size_bytes();
  PS_RETURN_IF_ERROR(writer_->Append(pieces));
  *bytes = writer_->size_bytes() - before;
  written_ += *bytes;
  *written = written_;
  return absl::OkStatus();
}

absl::Status ServerLog::SyncUpTo(int64_t written) {
  MutexLock sync_lock(&sync_mu_);
  if (synced_ >= written) return absl::OkStatus();
  int64_t reached = 0;
  std::shared_ptr<RecordLogWriter> writer;
  {
    MutexLock lock(&mu_);
    PS_RETURN_IF_ERROR(failure_);
    reached = written_;
    writer = writer_;
  }
  if (writer == nullptr) return absl::OkStatus();
  const absl::Status status = writer->Sync();
  if (status.ok()) {
    synced_ = reached;
    return status;
  }
  // The system reports lost bytes once; another sync would succeed.
  MutexLock lock(&mu_);
  failure_ = status;
  return status;
}

}  // namespace ps
