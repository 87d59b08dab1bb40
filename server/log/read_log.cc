#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "server/log/server_log.h"

namespace ps {
namespace {

constexpr size_t kLengthBytes = sizeof(uint32_t);

// Reads records of one segment into a LoggedJob.
class SegmentReader {
 public:
  SegmentReader(std::string path, LoggedJob* job)
      : path_(std::move(path)), job_(job) {}

  absl::Status Read(Files* files);

 private:
  absl::Status Take(absl::string_view record, bool is_first);
  absl::Status TakeFirst(const LoggedInitialWeights& first,
                         absl::string_view weights);
  absl::Status TakeUpdate(const LoggedUpdate& logged,
                          absl::string_view payloads);
  absl::Status TakeNorms(const LoggedNorms& norms);

  ReceivedPayload PayloadOf(absl::string_view bytes) const {
    return {{{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}},
            log_};
  }

  const std::string path_;
  LoggedJob* const job_;
  // The payloads point into it and own it.
  std::shared_ptr<const RecordLogReader> log_;
};

absl::Status SegmentReader::Read(Files* files) {
  PS_ASSIGN_OR_RETURN(RecordLogReader log, RecordLogReader::Open(files, path_));
  log_ = std::make_shared<const RecordLogReader>(std::move(log));
  const std::vector<absl::string_view>& records = log_->records();
  if (records.empty()) {
    return absl::DataLossError(absl::StrCat(path_, " has no first record"));
  }
  for (size_t i = 0; i < records.size(); ++i) {
    PS_RETURN_IF_ERROR(Annotate(Take(records[i], /*is_first=*/i == 0),
                                absl::StrCat(path_, ", record ", i)));
  }
  return absl::OkStatus();
}

absl::Status SegmentReader::Take(absl::string_view record, bool is_first) {
  uint32_t head_bytes = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    head_bytes = head_bytes << 8 |
                 (i < record.size() ? static_cast<uint8_t>(record[i]) : 0);
  }
  LogEntry entry;
  if (record.size() < kLengthBytes ||
      record.size() - kLengthBytes < head_bytes ||
      !entry.ParseFromArray(record.data() + kLengthBytes,
                            static_cast<int>(head_bytes))) {
    return absl::DataLossError("is no entry of a server's log");
  }
  if (is_first != entry.has_beginning()) {
    return absl::DataLossError(is_first ? "has no layout of a model"
                                        : "is the first one of another file");
  }
  const absl::string_view rest = record.substr(kLengthBytes + head_bytes);
  switch (entry.what_case()) {
    case LogEntry::kFirst:
      return TakeFirst(entry.first(), rest);
    case LogEntry::kUpdate:
      return TakeUpdate(entry.update(), rest);
    case LogEntry::kNorms:
      return TakeNorms(entry.norms());
    case LogEntry::kBeginning:
      if (entry.beginning().protocol() != kProtocol) {
        return absl::DataLossError(
            absl::StrCat("has protocol ", entry.beginning().protocol(),
                         "; this program has ", kProtocol));
      }
      job_->layout = entry.beginning().layout();
      job_->boot = entry.beginning().boot();
      return absl::OkStatus();
    case LogEntry::WHAT_NOT_SET:
      break;
  }
  return absl::DataLossError("is of an unknown kind");
}

absl::Status SegmentReader::TakeFirst(const LoggedInitialWeights& first,
                                      absl::string_view weights) {
  job_->slices[first.slice()].first = PayloadOf(weights);
  return absl::OkStatus();
}

absl::Status SegmentReader::TakeUpdate(const LoggedUpdate& logged,
                                       absl::string_view payloads) {
  UpdateRecord update;
  update.stop = logged.stop();
  for (const LoggedPush& one : logged.pushes()) {
    const auto bytes = static_cast<size_t>(one.payload_bytes());
    if (one.payload_bytes() < 0 || bytes > payloads.size()) {
      return absl::DataLossError("has fewer bytes of payloads than it says");
    }
    WorkerPush push;
    push.rank = one.rank();
    push.iteration = one.iteration();
    push.loss = one.loss();
    push.count = one.count();
    push.dense = one.dense();
    push.message_bytes = one.message_bytes();
    push.base_version = one.base_version();
    push.samples = one.samples();
    if (one.has_compress_next()) push.compress_next = one.compress_next();
    push.payload = PayloadOf(payloads.substr(0, bytes));
    payloads.remove_prefix(bytes);
    update.pushes.push_back(std::move(push));
  }
  for (int stage = 0; stage < logged.num_totals(); ++stage) {
    const auto sums = job_->norms.find({logged.version(), stage});
    if (sums == job_->norms.end()) {
      return absl::DataLossError(absl::StrCat(
          "lacks exchange ", stage, " of norms of update ", logged.version()));
    }
    update.totals.push_back(TotalsOf(sums->second));
  }
  ++job_->num_updates;
  const bool added = job_->slices[logged.slice()]
                         .updates.emplace(logged.version(), std::move(update))
                         .second;
  if (added) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("repeats update ", logged.version(),
                                          " of ", logged.slice()));
}

absl::Status SegmentReader::TakeNorms(const LoggedNorms& norms) {
  if (norms.weights_size() != norms.gradient_size() ||
      norms.weights_size() != norms.step_size()) {
    return absl::DataLossError("has norms of different numbers of tensors");
  }
  std::vector<Squares>& sums = job_->norms[{norms.update(), norms.stage()}];
  sums.clear();
  for (int t = 0; t < norms.weights_size(); ++t) {
    sums.push_back({norms.weights(t), norms.gradient(t), norms.step(t)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoggedJob> ReadLog(Files* files,
                                  const std::vector<LogSegment>& segments,
                                  int64_t from) {
  LoggedJob job;
  bool has_first = false;
  for (const LogSegment& segment : segments) {
    if (segment.number < from) continue;
    has_first = has_first || segment.number == from;
    if (!has_first || !segment.complete) {
      return absl::DataLossError(absl::StrCat(
          segment.path, has_first ? " does not hold every update"
                                  : " does not follow what is there"));
    }
    PS_RETURN_IF_ERROR(SegmentReader(segment.path, &job).Read(files));
  }
  return job;
}

}  // namespace ps
