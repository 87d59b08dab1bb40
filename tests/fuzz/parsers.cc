#include "tests/fuzz/parsers.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/batch.h"
#include "common/config.h"
#include "common/config_check.h"
#include "common/json.h"
#include "common/npy_header.h"
#include "common/safetensors.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "compressors/state_io.h"
#include "data/byte_alphabet.h"
#include "data/cifar_records.h"
#include "data/decode_image.h"
#include "data/gunzip.h"
#include "data/idx.h"
#include "data/text_pair.h"
#include "data/transcripts.h"
#include "data/vocabulary.h"
#include "data/wav.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "models/described/described_layers.h"
#include "models/onnx/export.h"
#include "models/onnx/import.h"
#include "nlohmann/json.hpp"
#include "proto/parameter_server.pb.h"
#include "proto/server_log.pb.h"
#include "security/certificate_authority.h"
#include "security/identity.h"
#include "server/limits/memory_bound.h"
#include "server/log/server_log.h"
#include "server/norms/server_squares.h"
#include "server/shard_layout.h"
#include "server/slices/slice_state.h"
#include "storage/crc32c.h"
#include "storage/record_log.h"
#include "storage/snapshot.h"
#include "tests/compressors/own_payloads.h"
#include "tests/data/encode_image_for_test.h"
#include "tests/data/gzip_for_test.h"
#include "tests/fuzz/lgc_messages.h"
#include "tests/storage/memory_files.h"
#include "transport/proto_bytes.h"
#include "transport/shard_map.h"
#include "transport/slice_message.h"
#include "transport/stage_message.h"
#include "worker/run_totals.h"
#include "worker/saved_worker.h"

namespace ps {
namespace {

constexpr int64_t kElements = kOwnPayloadSize;

// What a server does with a push's payload.
absl::Status FuzzPayload(absl::string_view bytes) {
  const PayloadPieces pieces = {
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}};
  PS_RETURN_IF_ERROR(ValidatePayload(pieces, kElements).status());
  std::vector<float> sum(kElements);
  AddPayload(pieces, sum.data());
  return absl::OkStatus();
}

absl::Status FuzzMessage(absl::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  PS_ASSIGN_OR_RETURN(const ReceivedSliceMessage message,
                      DecodeSliceMessage(grpc::ByteBuffer(&slice, 1)));
  return ValidatePayload(message.payload.pieces, kElements).status();
}

// What a server, or a receiver, does with a chunk of an array.
absl::Status FuzzStageMessage(absl::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  PS_ASSIGN_OR_RETURN(const ReceivedStageMessage message,
                      DecodeStageMessage(grpc::ByteBuffer(&slice, 1)));
  const StageLimits limits = StageLimitsFor(3, 1, 1 << 20, 4);
  CheckStageGet(message, limits, 0).IgnoreError();
  PS_RETURN_IF_ERROR(CheckStagePut(message, limits, 0));
  std::vector<float> chunk(
      ChunkSize(message.header.num_values(), message.header.chunk(), limits));
  return CopyChunk(message, message.header.num_values(), absl::MakeSpan(chunk));
}

absl::Status FuzzSafetensors(absl::string_view bytes) {
  return ParseSafetensors(bytes).status();
}

absl::Status FuzzNpy(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const NpyTextRange text, ParseNpyPreamble(bytes));
  if (text.end > static_cast<int64_t>(bytes.size())) {
    return absl::DataLossError("the file ends in its header");
  }
  return ParseNpyText(bytes.substr(text.begin, text.end - text.begin)).status();
}

absl::Status FuzzIdx(absl::string_view bytes) {
  ParseIdx(bytes, 1).IgnoreError();
  return ParseIdx(bytes, 3).status();
}

absl::Status FuzzCifar(absl::string_view bytes) {
  ByteImages images = NoCifarImages(100);
  return AppendCifarRecords(bytes, /*label_bytes=*/2, &images);
}

// Each half is a text of its own.
absl::Status FuzzText(absl::string_view bytes) {
  const NamedText train{"train", bytes.substr(0, bytes.size() / 2)};
  const NamedText test{"test", bytes.substr(bytes.size() / 2)};
  NewCharacterPair(ByteAlphabet(bytes), train, test, 3).status().IgnoreError();
  return NewWordPair(Vocabulary::Of(train.text), train, test, 3).status();
}

// What a server does with the sizes of a model before it makes slices.
absl::Status FuzzRegistration(absl::string_view bytes) {
  RegisterRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("the message cannot be parsed");
  }
  static const JobConfig* const job = [] {
    auto* const made = new JobConfig;
    made->mutable_cluster()->set_num_workers(2);
    made->mutable_optimizer()->set_name("lamb");
    return made;
  }();
  const ShardLayout layout = LayoutOf(request);
  PS_RETURN_IF_ERROR(CheckLayout(layout));
  ShardMapOptions options;
  options.bucket_sizes = layout.bucket_sizes;
  options.num_averaged_buckets = layout.num_averaged_buckets;
  options.num_servers = 1;
  options.max_slice_elements = 1 << 20;
  PS_ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(options));
  const TensorMap tensors(layout);
  for (int b = 0; b < map.num_buckets(); ++b) {
    for (const Slice& slice : map.slices(b)) tensors.Stretches(slice);
  }
  const ServerPart part = PartOf(map, layout.num_averaged_buckets, 0);
  return MemoryBoundOf(*job, part).status();
}

absl::Status FuzzSquares(absl::string_view bytes) {
  SquaresMessage message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("the message cannot be parsed");
  }
  ServerSquaresOptions options;
  options.num_tensors = 2;
  options.slices = {{0, {0}}, {1, {0, 1}}};
  absl::Status answered;
  ServerSquares squares(options, nullptr, [](const auto& work) { work(); });
  squares.AddFromServer(message,
                        [&](const absl::StatusOr<SquaresMessage>& sum) {
                          answered = sum.status();
                        });
  return answered;
}

absl::Status FuzzGzip(absl::string_view bytes) {
  return Gunzip(bytes, 1 << 16).status();
}

absl::Status FuzzImage(absl::string_view bytes) {
  return DecodeImage(bytes).status();
}

absl::Status FuzzWav(absl::string_view bytes) {
  return ParseWav(bytes).status();
}

absl::Status FuzzTranscripts(absl::string_view bytes) {
  return ParseTranscripts(bytes).status();
}

const ExampleShape& GreyImages() {
  static const ExampleShape* const images = [] {
    auto* const made = new ExampleShape;
    made->channels = 1;
    made->height = made->width = 9;
    made->num_classes = 3;
    return made;
  }();
  return *images;
}

absl::Status FuzzJob(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const JobConfig config, ParseConfig(bytes, "fuzzed"));
  ConfigProblems problems;
  MakeDescribedLayers(config.model().layers(), &GreyImages(), &problems);
  return ValidateConfig(config);
}

absl::Status FuzzOnnx(absl::string_view bytes) {
  return ImportOnnx(bytes).status();
}

// Small networks with every kind of layer that ONNX has.
std::vector<std::string> OnnxFiles() {
  ExampleShape text;
  text.task = Task::kWords;
  text.steps = 2;
  text.num_classes = 3;
  std::vector<std::string> files;
  for (const auto& [example, layers] :
       {std::make_pair(
            GreyImages(),
            R"(layer { convolution { out_channels: 2 kernel_size: 3 } }
                          layer { max_pooling { kernel_size: 2 } }
                          layer { residual {
                            layer { convolution { out_channels: 4 kernel_size: 1
                                                  stride: 2 } }
                            layer { batch_norm {} }
                            shortcut { subsampling { out_channels: 4 } } } }
                          layer { activation: "tanh" }
                          layer { global_pooling {} }
                          layer { linear {} })"),
        std::make_pair(text, R"(layer { embedding { features: 2 } }
                                layer { lstm { hidden: 2 layers: 2
                                               dropout: 0.5 } }
                                layer { gru { hidden: 2 } }
                                layer { linear {} })")}) {
    LayersConfig config;
    CHECK(google::protobuf::TextFormat::ParseFromString(layers, &config));
    ConfigProblems problems;
    const DescribedLayers made =
        MakeDescribedLayers(config, &example, &problems);
    CHECK(problems.lines().empty()) << problems.lines()[0];
    std::vector<SafetensorsTensor> tensors;
    const auto add = [&](const std::string& name, const Shape& shape) {
      tensors.push_back(
          {name, shape, "F32", std::vector<float>(NumElements(shape), 0.5f)});
    };
    for (const auto& layer : made.layers) {
      for (const auto& p : layer->parameters()) add(p.name, p.shape);
      for (const auto& s : layer->statistics()) add(s.name, s.shape);
    }
    const auto bytes = ExportOnnx(config, example, tensors);
    CHECK(bytes.ok()) << bytes.status();
    files.push_back(*bytes);
  }
  return files;
}

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

absl::Status FuzzLogRecord(absl::string_view bytes) {
  MemoryFiles files;
  auto log = RecordLogWriter::Create(&files, "f/log-0-0000000000000001");
  CHECK(log.ok() && log->Append({bytes}).ok()) << log.status();
  return ReadAsLog(&files);
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

absl::Status FuzzSlice(absl::string_view fields) {
  const std::string saved = Sealed("slice", fields);
  SliceState::ForWorkers(saved, 3, 4, 5).IgnoreError();
  SliceState::NumElements(saved).IgnoreError();
  return SliceState::Load(SmallSlice(), saved).status();
}

absl::Status FuzzProgress(absl::string_view fields) {
  RunTotalsCounter totals(2, 5);
  LoadResiduals(Sealed(kResidualsPart, fields)).IgnoreError();
  return LoadProgress(Sealed(kProgressPart, fields), &totals).status();
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

std::string StageMessageBytes() {
  AuxMessage header;
  header.mutable_worker()->set_rank(1);
  header.mutable_worker()->set_incarnation(5);
  header.set_peer(2);
  header.set_stream(3);
  header.set_number(300);
  header.set_chunk(1);
  header.set_num_values(7);
  const auto values = std::make_shared<std::vector<float>>(3, 0.5F);
  grpc::Slice slice;
  CHECK(EncodeStagePut(header, *values, values).DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()),
                     slice.size());
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

std::string RegistrationBytes() {
  RegisterRequest request;
  for (const int64_t size : {100, 28}) request.add_bucket_sizes(size);
  for (const int64_t size : {90, 10, 28}) {
    request.add_tensor_sizes(size);
    request.add_tensor_is_matrix(size > 10);
  }
  request.set_total_iterations(5);
  request.set_num_averaged_buckets(1);
  return request.SerializeAsString();
}

std::string SquaresBytes() {
  SquaresMessage message;
  message.set_server_index(1);
  for (int i = 0; i < 2; ++i) {
    message.add_weights(i);
    message.add_gradient(2 * i);
    message.add_step(3);
  }
  return message.SerializeAsString();
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

// The name in a peer's certificate.
absl::Status FuzzIdentity(absl::string_view bytes) {
  return ParseIdentityUri(bytes).status();
}

const Identity& Somebody() {
  static const Identity* const somebody = new Identity{"job", Role::kWorker, 3};
  return *somebody;
}

// The same every time, because a certificate is none without its key.
const KeyAndCertificate& Issued(bool own) {
  static const CertificateAuthority* const authority =
      new CertificateAuthority(*CertificateAuthority::Create(
          {absl::FromUnixSeconds(0), absl::FromUnixSeconds(100)}));
  static const KeyAndCertificate* const issued =
      new KeyAndCertificate(*authority->Issue(
          Somebody(), {absl::FromUnixSeconds(0), absl::FromUnixSeconds(100)}));
  return own ? authority->own() : *issued;
}

constexpr char kPemBegin[] = "-----BEGIN CERTIFICATE-----\n";
constexpr char kPemEnd[] = "-----END CERTIFICATE-----\n";

// The bytes behind the text, in which changes would hardly pass base64.
std::string DerOf(absl::string_view pem) {
  absl::ConsumePrefix(&pem, kPemBegin);
  absl::ConsumeSuffix(&pem, kPemEnd);
  std::string der;
  absl::Base64Unescape(pem, &der);
  return der;
}

absl::Status FuzzCertificate(absl::string_view bytes) {
  const std::string base64 = absl::Base64Escape(bytes);
  std::string pem = kPemBegin;
  for (size_t begin = 0; begin < base64.size(); begin += 64) {
    absl::StrAppend(&pem, base64.substr(begin, 64), "\n");
  }
  absl::StrAppend(&pem, kPemEnd);
  return CheckCertificate({Issued(false).key, pem}, Issued(true).certificate,
                          Somebody(), absl::FromUnixSeconds(50));
}

absl::Status FuzzOverride(absl::string_view bytes) {
  JobConfig config;
  config.mutable_model()->mutable_layers()->add_layer();
  return ApplyOverride(bytes, &config);
}

}  // namespace

std::vector<FuzzedParser> FuzzedParsers() {
  RunTotalsCounter totals(2, 5);
  const std::string npy =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n";
  return {
      {"payload", FuzzPayload, Payloads()},
      {"message", FuzzMessage, Messages()},
      {"lgc", FuzzLgc, LgcMessages()},
      {"stage_message", FuzzStageMessage, {StageMessageBytes()}},
      {"safetensors", FuzzSafetensors, {SafetensorsSeed()}},
      {"npy",
       FuzzNpy,
       {std::string("\x93NUMPY\x01\0", 8) +
        std::string(1, static_cast<char>(npy.size())) + std::string(1, '\0') +
        npy}},
      {"idx", FuzzIdx, {IdxBytes()}},
      {"cifar", FuzzCifar, {std::string(3074, '\7')}},
      {"text", FuzzText, {"a b c\na b c\na b c\na b c\n"}},
      {"registration", FuzzRegistration, {RegistrationBytes()}},
      {"squares", FuzzSquares, {SquaresBytes()}},
      {"gzip", FuzzGzip, {GzipForTest("some text, some text, some text")}},
      {"image", FuzzImage, Images()},
      {"wav", FuzzWav, {WavBytes()}},
      {"transcripts", FuzzTranscripts, {"a.wav\tsome words\n\nb.wav\tmore\n"}},
      {"job",
       FuzzJob,
       {"name: \"a\" model { name: \"mlp\" mlp { hidden_units: 8 } } "
        "data { name: \"digits\" } compressor { name: \"sidco_e\" ratio: 0.01 "
        "} "
        "cluster { num_workers: 2 num_servers: 1 servers: \"a:1\" }",
        "model { name: \"layers\" layers { "
        "layer { convolution { out_channels: 6 kernel_size: [5, 3] } } "
        "layer { residual { layer { convolution { out_channels: 6 kernel_size: "
        "3 padding: 1 } } layer { batch_norm {} } } } "
        "layer { flatten {} } layer { linear { initial_weight { normal: 0.1 } "
        "} "
        "} } }"}},
      {"onnx", FuzzOnnx, OnnxFiles()},
      {"override",
       FuzzOverride,
       {"compressor.ratio=0.001", "cluster.servers=a:1, b:2",
        "model.layers.layer[0].linear.out_features=8",
        "compressor.index_code=\"rice\""}},
      {"identity",
       FuzzIdentity,
       {UriOf(Somebody()), UriOf({"a.b_c-d", Role::kServer, 0})}},
      {"certificate", FuzzCertificate, {DerOf(Issued(false).certificate)}},
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
       {Unsealed(kProgressPart, SaveProgress({}, totals))}},
  };
}

}  // namespace ps
