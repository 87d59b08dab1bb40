#include "tests/fuzz/parsers.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "common/config.h"
#include "common/json.h"
#include "common/npy_header.h"
#include "common/safetensors.h"
#include "compressors/payload/payload.h"
#include "compressors/state_io.h"
#include "data/decode_image.h"
#include "data/gunzip.h"
#include "data/idx.h"
#include "data/transcripts.h"
#include "data/wav.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "proto/parameter_server.pb.h"
#include "proto/server_log.pb.h"
#include "server/log/server_log.h"
#include "server/slices/slice_state.h"
#include "storage/crc32c.h"
#include "storage/record_log.h"
#include "storage/snapshot.h"
#include "tests/compressors/own_payloads.h"
#include "tests/data/encode_image_for_test.h"
#include "tests/data/gzip_for_test.h"
#include "tests/storage/memory_files.h"
#include "transport/proto_bytes.h"
#include "transport/slice_message.h"
#include "worker/run_totals.h"
#include "worker/saved_worker.h"

namespace ps {
namespace {

constexpr int64_t kElements = kOwnPayloadSize;

// What a server does with a push's payload.
void FuzzPayload(absl::string_view bytes) {
  const PayloadPieces pieces = {
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}};
  if (!ValidatePayload(pieces, kElements).ok()) return;
  std::vector<float> sum(kElements);
  AddPayload(pieces, sum.data());
}

void FuzzMessage(absl::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  const auto message = DecodeSliceMessage(grpc::ByteBuffer(&slice, 1));
  if (!message.ok()) return;
  ValidatePayload(message->payload.pieces, kElements).IgnoreError();
}

void FuzzSafetensorsFile(absl::string_view bytes) {
  ParseSafetensors(bytes).IgnoreError();
}

void FuzzNpyFile(absl::string_view bytes) {
  const auto text = ParseNpyPreamble(bytes);
  if (!text.ok() || text->end > static_cast<int64_t>(bytes.size())) return;
  ParseNpyText(bytes.substr(text->begin, text->end - text->begin))
      .IgnoreError();
}

void FuzzIdxFile(absl::string_view bytes) {
  for (const int dimensions : {1, 3}) ParseIdx(bytes, dimensions).IgnoreError();
}

void FuzzGzip(absl::string_view bytes) { Gunzip(bytes, 1 << 20).IgnoreError(); }

void FuzzImage(absl::string_view bytes) { DecodeImage(bytes).IgnoreError(); }

void FuzzWavFile(absl::string_view bytes) { ParseWav(bytes).IgnoreError(); }

void FuzzTranscriptList(absl::string_view bytes) {
  ParseTranscripts(bytes).IgnoreError();
}

void FuzzJob(absl::string_view bytes) {
  const auto config = ParseConfig(bytes, "fuzzed");
  if (config.ok()) ValidateConfig(*config).IgnoreError();
}

void FuzzJsonText(absl::string_view bytes) {
  ParseJson(bytes);
  std::string repeated;
  ParseSortedJson(bytes, &repeated);
}

void Put(const std::string& path, absl::string_view bytes, MemoryFiles* files) {
  auto file = files->Create(path);
  CHECK(file.ok() && (*file)->Append({bytes}).ok()) << file.status();
}

// With a checksum that fits, so that what comes after it is reached.
void FuzzManifest(absl::string_view body) {
  MemoryFiles files;
  Put("f/snapshot-7/manifest",
      absl::StrCat("gradsieve-snapshot 1 ",
                   absl::StrFormat("%08x", Crc32c(body)), "\n", body),
      &files);
  const auto snapshot = OpenSnapshot(&files, "f", 7);
  if (!snapshot.ok()) return;
  for (const SnapshotPart& part : snapshot->parts) {
    ReadPart(&files, *snapshot, part.name).IgnoreError();
  }
}

void ReadAsLog(MemoryFiles* files) {
  LogSegment segment;
  segment.path = "f/log-0-0000000000000001";
  segment.epoch = 1;
  ReadLog(files, {segment}, 0).IgnoreError();
}

void FuzzLogFile(absl::string_view bytes) {
  MemoryFiles files;
  Put("f/log-0-0000000000000001", bytes, &files);
  ReadAsLog(&files);
}

void FuzzLogRecord(absl::string_view bytes) {
  MemoryFiles files;
  auto log = RecordLogWriter::Create(&files, "f/log-0-0000000000000001");
  CHECK(log.ok() && log->Append({bytes}).ok()) << log.status();
  ReadAsLog(&files);
}

// The same fields, with a kind and a checksum that fit.
std::string Sealed(absl::string_view kind, absl::string_view fields) {
  StateWriter writer(kind);
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

void FuzzSlice(absl::string_view fields) {
  const std::string saved = Sealed("slice", fields);
  SliceState::Load(SmallSlice(), saved).IgnoreError();
  SliceState::ForWorkers(saved, 3, 4, 5).IgnoreError();
  SliceState::NumElements(saved).IgnoreError();
}

void FuzzProgress(absl::string_view fields) {
  RunTotalsCounter totals(2, 5);
  LoadProgress(Sealed(kProgressPart, fields), &totals).IgnoreError();
  LoadResiduals(Sealed(kResidualsPart, fields)).IgnoreError();
}

// The fields of a state, without its kind and its checksum.
std::string Unsealed(absl::string_view kind, absl::string_view state) {
  return std::string(StateReader::Open(kind, state)->Rest());
}

std::string BytesOf(const PayloadBuffer& payload) {
  const auto span = payload.span();
  return std::string(span.begin(), span.end());
}

std::vector<std::string> Payloads() {
  std::vector<std::string> payloads = OwnPayloads();
  std::vector<uint32_t> indices;
  std::vector<float> values;
  for (uint32_t i = 0; i < kElements; i += 7) {
    indices.push_back(i);
    values.push_back(0.25F * static_cast<float>(i) - 30);
  }
  for (const std::string& index_code : IndexCodeNames()) {
    for (const std::string& value_code : ValueCodeNames()) {
      PayloadCodes codes;
      codes.index_code = index_code;
      codes.value_code = value_code;
      if (!CheckPayloadCodes(codes).ok()) continue;
      std::vector<float> scratch = values;
      const auto payload =
          EncodeElements(codes, indices, absl::MakeSpan(scratch), 0, kElements);
      if (payload.ok()) payloads.push_back(BytesOf(*payload));
    }
  }
  payloads.push_back(BytesOf(EncodeDense(std::vector<float>(kElements, 2))));
  return payloads;
}

std::vector<std::string> Messages() {
  SliceMessage header;
  header.mutable_worker()->set_rank(1);
  header.mutable_worker()->set_incarnation(5);
  header.set_iteration(3);
  header.set_loss(0.5);
  const grpc::ByteBuffer buffer =
      EncodeSliceMessage(header, EncodeDense(std::vector<float>(kElements, 2)));
  grpc::Slice slice;
  CHECK(buffer.DumpToSingleSlice(&slice).ok());
  return {
      std::string(reinterpret_cast<const char*>(slice.begin()), slice.size())};
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
  std::vector<std::string> records;
  for (const LogEntry& entry : {first, update, norms}) {
    const std::string text = entry.SerializeAsString();
    std::string size(4, '\0');
    size[0] = static_cast<char>(text.size());
    records.push_back(absl::StrCat(size, text, "abc"));
  }
  return records;
}

std::string LogBytes() {
  MemoryFiles files;
  auto log = RecordLogWriter::Create(&files, "log");
  CHECK(log.ok()) << log.status();
  for (const std::string& record : LogRecords()) {
    CHECK(log->Append({record}).ok());
  }
  return files.contents().at("log").bytes;
}

std::vector<std::string> Images() {
  std::vector<std::string> images;
  for (const int channels : {1, 3}) {
    EncodeOptions options;
    options.width = options.height = 9;
    options.channels = channels;
    const std::vector<uint8_t> pixels(9 * 9 * channels, 77);
    for (const bool progressive : {false, true}) {
      options.progressive = progressive;
      images.push_back(EncodeJpeg(pixels, options));
      images.push_back(EncodePng(pixels, options));
    }
  }
  return images;
}

std::string WavBytes() {
  std::string wav("RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", 24);
  wav += std::string("\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0", 20);
  return wav + std::string("\1\2\3\4\5\6\7\x08", 8);
}

std::string IdxBytes() {
  return std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02", 16) +
         "abcdefgh";
}

std::string SafetensorsSeed() {
  const std::string header =
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  return bytes + header + std::string(8, '\1');
}

}  // namespace

std::vector<FuzzedParser> FuzzedParsers() {
  RunTotalsCounter totals(2, 5);
  const std::string npy =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n";
  return {
      {"payload", FuzzPayload, Payloads()},
      {"message", FuzzMessage, Messages()},
      {"safetensors", FuzzSafetensorsFile, {SafetensorsSeed()}},
      {"npy",
       FuzzNpyFile,
       {std::string("\x93NUMPY\x01\0", 8) +
        std::string(1, static_cast<char>(npy.size())) + std::string(1, '\0') +
        npy}},
      {"idx", FuzzIdxFile, {IdxBytes()}},
      {"gzip", FuzzGzip, {GzipForTest("some text, some text, some text")}},
      {"image", FuzzImage, Images()},
      {"wav", FuzzWavFile, {WavBytes()}},
      {"transcripts",
       FuzzTranscriptList,
       {"a.wav\tsome words\n\nb.wav\tmore\n"}},
      {"job",
       FuzzJob,
       {"name: \"a\" model { name: \"mlp\" mlp { hidden_units: 8 } } "
        "data { name: \"digits\" } compressor { name: \"sidco_e\" ratio: 0.01 "
        "} "
        "cluster { num_workers: 2 servers: \"a:1\" }"}},
      {"json", FuzzJsonText, {R"({"a": [1, 2.5e3, "x\u00e9"], "b": null})"}},
      {"manifest",
       FuzzManifest,
       {R"({"number": 7, "note": "{}", "files": [{"name": "state", "bytes": 3,)"
        R"( "crc32c": 5}]})"}},
      {"log", FuzzLogFile, {LogBytes()}},
      {"log_record", FuzzLogRecord, LogRecords()},
      {"slice", FuzzSlice, Slices()},
      {"progress",
       FuzzProgress,
       {Unsealed(kProgressPart, SaveProgress({}, totals))}},
  };
}

}  // namespace ps
