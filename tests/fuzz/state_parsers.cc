// What processes have written for themselves.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "compressors/payload/payload.h"
#include "compressors/state_io.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "proto/config.pb.h"
#include "proto/server_log.pb.h"
#include "server/log/server_log.h"
#include "server/slices/slice_state.h"
#include "storage/crc32c.h"
#include "storage/record_log.h"
#include "storage/snapshot.h"
#include "tests/fuzz/parsers.h"
#include "tests/storage/memory_files.h"
#include "worker/records/run_totals.h"
#include "worker/saved_worker.h"

namespace ps {
namespace {

absl::Status FuzzJson(absl::string_view bytes) {
  std::string repeated;
  ParseSortedJson(bytes, &repeated);
  return ParseJson(bytes).is_discarded() ? absl::DataLossError("no JSON")
                                         : absl::OkStatus();
}

void Put(const std::string& path, absl::string_view bytes, MemoryFiles* files) {
  auto file = files->Create(path);
  CHECK(file.ok() && (*file)->Append({bytes}).ok()) << file.status();
}

// With a checksum that fits, so that what comes after it is reached.
absl::Status FuzzManifest(absl::string_view body) {
  MemoryFiles files;
  Put("f/snapshot-7/manifest",
      absl::StrCat("gradsieve-snapshot 1 ",
                   absl::StrFormat("%08x", Crc32c(body)), "\n", body),
      &files);
  PS_ASSIGN_OR_RETURN(const Snapshot snapshot, OpenSnapshot(&files, "f", 7));
  for (const SnapshotPart& part : snapshot.parts) {
    ReadPart(&files, snapshot, part.name).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status ReadAsLog(MemoryFiles* files) {
  LogSegment segment;
  segment.path = "f/log-0-0000000000000001";
  segment.epoch = 1;
  return ReadLog(files, {segment}, 0).status();
}

absl::Status FuzzLog(absl::string_view bytes) {
  MemoryFiles files;
  Put("f/log-0-0000000000000001", bytes, &files);
  return ReadAsLog(&files);
}

std::string RecordOf(const LogEntry& entry, absl::string_view payloads) {
  const std::string text = entry.SerializeAsString();
  std::string size(4, '\0');
  size[0] = static_cast<char>(text.size());
  return absl::StrCat(size, text, payloads);
}

LogEntry Beginning() {
  LogEntry entry;
  entry.mutable_beginning()->mutable_layout()->add_bucket_sizes(5);
  entry.mutable_beginning()->set_protocol(kProtocol);
  return entry;
}

// Behind the record that begins a file.
absl::Status FuzzLogRecord(absl::string_view bytes) {
  MemoryFiles files;
  auto log = RecordLogWriter::Create(&files, "f/log-0-0000000000000001");
  CHECK(log.ok() && log->Append({RecordOf(Beginning(), "")}).ok() &&
        log->Append({bytes}).ok())
      << log.status();
  return ReadAsLog(&files);
}

// The same fields, with a kind and a checksum that fit.
std::string Sealed(absl::string_view kind, absl::string_view fields,
                   int version = 1) {
  StateWriter writer(kind, version);
  writer.PutRest(fields);
  return std::move(writer).Finish();
}

const JobConfig& SmallJob() {
  static const JobConfig* const job = [] {
    auto* const small = new JobConfig();
    small->mutable_cluster()->set_num_workers(2);
    small->mutable_optimizer()->set_name("adam");
    return small;
  }();
  return *job;
}

SliceOptions SmallSlice() {
  SliceOptions options;
  options.config = &SmallJob();
  options.num_elements = 5;
  options.total_updates = 9;
  return options;
}

absl::Status FuzzSlice(absl::string_view fields) {
  const std::string saved = Sealed("slice", fields);
  SliceState::ForWorkers(saved, 3, 4, 5).IgnoreError();
  SliceState::NumElements(saved).IgnoreError();
  return SliceState::Load(SmallSlice(), saved).status();
}

absl::Status FuzzProgress(absl::string_view fields) {
  RunTotalsCounter totals(2, 5);
  LoadResiduals(Sealed(kResidualsPart, fields)).IgnoreError();
  return LoadProgress(Sealed(kProgressPart, fields, kProgressVersion), &totals)
      .status();
}

// The fields of a state, without its kind and its checksum.
std::string Unsealed(absl::string_view kind, absl::string_view state,
                     int version = 1) {
  return std::string(StateReader::Open(kind, state, version)->Rest());
}

std::vector<std::string> Slices() {
  const auto state =
      SliceState::Create(SmallSlice(), {EncodeDense({1, 2, 3, 4, 5}).span()});
  CHECK(state.ok()) << state.status();
  return {Unsealed("slice", (*state)->Save())};
}

std::vector<std::string> LogRecords() {
  LogEntry first;
  first.mutable_first()->set_slice("slice-0-0");
  LogEntry update;
  update.mutable_update()->set_slice("slice-0-0");
  update.mutable_update()->set_version(1);
  LoggedPush* const push = update.mutable_update()->add_pushes();
  push->set_iteration(1);
  push->set_payload_bytes(3);
  LogEntry norms;
  norms.mutable_norms()->add_weights(0.5);
  norms.mutable_norms()->add_gradient(0.25);
  norms.mutable_norms()->add_step(0.125);
  std::vector<std::string> records;
  for (const LogEntry& entry : {first, update, norms}) {
    records.push_back(RecordOf(entry, "abc"));
  }
  return records;
}

std::string LogBytes() {
  MemoryFiles files;
  auto log = RecordLogWriter::Create(&files, "log");
  CHECK(log.ok() && log->Append({RecordOf(Beginning(), "")}).ok())
      << log.status();
  for (const std::string& record : LogRecords()) {
    CHECK(log->Append({record}).ok());
  }
  return files.contents().at("log").bytes;
}

}  // namespace

std::vector<FuzzedParser> ParsersOfState() {
  RunTotalsCounter totals(2, 5);
  return {
      {"json", FuzzJson, {R"({"a": [1, 2.5e3, "x\u00e9"], "b": null})"}},
      {"manifest",
       FuzzManifest,
       {R"({"number": 7, "note": "{}", "files": [{"name": "state", "bytes": 3,)"
        R"( "crc32c": 5}]})"}},
      {"log", FuzzLog, {LogBytes()}},
      {"log_record", FuzzLogRecord, LogRecords()},
      {"slice", FuzzSlice, Slices()},
      {"progress",
       FuzzProgress,
       {Unsealed(kProgressPart, SaveProgress({}, totals), kProgressVersion)}},
  };
}

}  // namespace ps
