// What other processes send, and their certificates.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "glog/logging.h"
#include "proto/config.pb.h"
#include "proto/parameter_server.pb.h"
#include "security/certificate_authority.h"
#include "security/identity.h"
#include "server/limits/memory_bound.h"
#include "server/norms/server_squares.h"
#include "server/shard_layout.h"
#include "tests/compressors/own_payloads.h"
#include "tests/fuzz/lgc_messages.h"
#include "tests/fuzz/parsers.h"
#include "transport/shard_map.h"
#include "transport/slice_message.h"
#include "transport/stage_message.h"

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

std::string RegistrationBytes() {
  RegisterRequest request;
  for (const int64_t size : {100, 28}) request.add_bucket_sizes(size);
  for (const int64_t size : {90, 10, 28}) {
    request.add_tensor_sizes(size);
    request.add_tensor_is_matrix(size > 10);
    request.add_tensor_rates(0.5);
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

}  // namespace

std::vector<FuzzedParser> ParsersOfMessages() {
  return {
      {"payload", FuzzPayload, Payloads()},
      {"message", FuzzMessage, Messages()},
      {"lgc", FuzzLgc, LgcMessages()},
      {"stage_message", FuzzStageMessage, {StageMessageBytes()}},
      {"registration", FuzzRegistration, {RegistrationBytes()}},
      {"squares", FuzzSquares, {SquaresBytes()}},
      {"identity",
       FuzzIdentity,
       {UriOf(Somebody()), UriOf({"a.b_c-d", Role::kServer, 0})}},
      {"certificate", FuzzCertificate, {DerOf(Issued(false).certificate)}},
  };
}

}  // namespace ps
