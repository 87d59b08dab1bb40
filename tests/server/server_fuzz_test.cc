// Sends damaged, random and hostile pushes to a server: each is refused with
// the right code, nothing changes, and honest workers are served as before.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compressors/payload/payload.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "tests/compressors/own_payloads.h"
#include "tests/server/raw_worker.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

constexpr int64_t kElements = kOwnPayloadSize;
constexpr uint64_t kIncarnation = 0x1122334455667788;

std::string Bytes(const PayloadBuffer& payload) {
  const auto span = payload.span();
  return std::string(span.begin(), span.end());
}

class ServerFuzzTest : public ::testing::Test {
 protected:
  // There is one worker, so that any accepted push changes the weights at once.
  ServerFuzzTest()
      : config_(PatientJob(/*num_workers=*/1)),
        server_(config_),
        worker_(server_.address()) {}

  void SetUp() override {
    const absl::Status registered = worker_.Register(
        RawWorker::ValidRegistration(config_, Id(), {kElements}));
    ASSERT_TRUE(registered.ok()) << registered;
    std::vector<float> weights(kElements);
    for (int64_t i = 0; i < kElements; ++i) weights[i] = 0.5f * i;
    const auto initialised = worker_.Call(
        "InitializeSlice", MessageBytes(Header(), EncodeDense(weights)));
    ASSERT_TRUE(initialised.ok()) << initialised.status();
    const auto pulled = Pull();
    ASSERT_TRUE(pulled.ok()) << pulled.status();
    before_ = *pulled;
  }

  // Whatever was sent, the weights and the version have not changed, and an
  // honest push still works.
  void TearDown() override {
    EXPECT_EQ(*Pull(), before_);
    EXPECT_EQ(worker_.GetStatus()->version(), 0);
    const auto answer = worker_.Call("Push", MessageBytes(Header(), Payload()));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(worker_.GetStatus()->version(), 1);
    EXPECT_NE(*Pull(/*iterations=*/1), before_);
  }

  static WorkerId Id() {
    WorkerId id;
    id.set_incarnation(kIncarnation);
    return id;
  }

  static SliceMessage Header() {
    SliceMessage header;
    *header.mutable_worker() = Id();
    header.set_loss(1.5);
    return header;
  }

  static const std::vector<uint32_t>& Indices() {
    static const auto* const indices =
        new std::vector<uint32_t>{0, 3, 4, 77, 150, 299};
    return *indices;
  }

  static PayloadBuffer Payload(const char* index_code = "raw32") {
    const std::vector<float> values = {1, -2, 3, -4, 5, -6};
    return *EncodeSparse(index_code, Indices(), values, /*begin=*/0, kElements);
  }

  // Valid payloads in several codes.
  static std::vector<std::string> GoodPayloads() {
    std::vector<std::string> payloads = OwnPayloads();
    for (const char* code : {"raw32", "delta_varint", "bitmap"}) {
      payloads.push_back(Bytes(Payload(code)));
    }
    return payloads;
  }

  absl::StatusOr<std::string> Pull(int64_t iterations = 0) {
    SliceMessage header = Header();
    header.set_iteration(iterations);
    return worker_.Call("Pull", header.SerializeAsString());
  }

  // Sends the payload with a correct header and expects a refusal.
  void ExpectRefused(const std::string& payload, const std::string& what) {
    for (const char* method : {"Push", "InitializeSlice"}) {
      SliceMessage message = Header();
      message.set_payload(payload);
      const absl::Status status =
          worker_.Call(method, message.SerializeAsString()).status();
      EXPECT_TRUE(absl::IsInvalidArgument(status))
          << method << ", " << what << ": " << status;
    }
  }

  const JobConfig config_;
  RunningServer server_;
  RawWorker worker_;
  std::string before_;  // The answer to Pull before the test.
};

template <typename T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(&bytes[offset], &value, sizeof(value));
  return bytes;
}

TEST_F(ServerFuzzTest, EachFieldOfAPayloadIsChecked) {
  // The offsets are those of compressors/payload/payload.h. With raw32, values
  // come before indices.
  const std::string good = Bytes(Payload());
  const size_t values = kPayloadHeaderBytes;
  const size_t indices = values + 4 * Indices().size();
  ASSERT_EQ(good.size(), indices + 4 * Indices().size());
  ExpectRefused("", "nothing");
  ExpectRefused(With<uint8_t>(good, 0, 2), "version");
  ExpectRefused(With<uint8_t>(good, 1, 200), "index code");
  ExpectRefused(With<uint8_t>(good, 1, 0), "dense with indices");
  ExpectRefused(With<uint8_t>(good, 2, 200), "value code");
  ExpectRefused(With<uint8_t>(good, 3, 1), "zero byte");
  for (const uint32_t count : {0u, 5u, 7u, 0x7fffffffu, 0xffffffffu}) {
    ExpectRefused(With<uint32_t>(good, 4, count), "count");
  }
  for (const uint64_t size : {0ull, 299ull, 301ull, 1ull << 32, ~0ull}) {
    ExpectRefused(With<uint64_t>(good, 8, size), "dense size");
    ExpectRefused(With<uint64_t>(good, 16, size), "value bytes");
    ExpectRefused(With<uint64_t>(good, 24, size), "index bytes");
  }
  for (const float value : {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::signaling_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    for (size_t i = 0; i < Indices().size(); ++i) {
      ExpectRefused(With<float>(good, values + 4 * i, value), "value");
    }
  }
  for (const uint32_t index : {300u, 301u, 0x80000000u, 0xffffffffu}) {
    ExpectRefused(With<uint32_t>(good, indices + 20, index), "out of range");
  }
  for (size_t i = 1; i < Indices().size(); ++i) {
    ExpectRefused(With<uint32_t>(good, indices + 4 * i, Indices()[i - 1]),
                  "repeated index");
    ExpectRefused(With<uint32_t>(good, indices + 4 * i - 4, 299), "unsorted");
  }
}

TEST_F(ServerFuzzTest, PayloadsOfEveryOtherLengthAreRefused) {
  for (const std::string& good : GoodPayloads()) {
    const std::string code = absl::StrCat("index code ", int{good[1]});
    for (size_t length = 0; length < good.size(); ++length) {
      ExpectRefused(good.substr(0, length), code);
    }
    for (size_t extra = 1; extra < 10; ++extra) {
      ExpectRefused(good + std::string(extra, '\0'), code);
    }
  }
}

TEST_F(ServerFuzzTest, MessagesCutAnywhereAreRefused) {
  const std::string good = MessageBytes(Header(), Payload());
  for (size_t length = 0; length < good.size(); ++length) {
    const absl::Status status =
        worker_.Call("Push", good.substr(0, length)).status();
    // A message cut before its worker field comes from an unknown worker.
    EXPECT_TRUE(absl::IsInvalidArgument(status) ||
                (length == 0 && absl::IsFailedPrecondition(status)))
        << length << ": " << status;
  }
}

TEST_F(ServerFuzzTest, WeightsOfAnotherSizeAreRefused) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, kElements - 1,
                             kElements + 1, int64_t{100000}}) {
    ExpectRefused(Bytes(EncodeDense(std::vector<float>(size, 1.0f))), "size");
  }
}

TEST_F(ServerFuzzTest, HeadersThatPointElsewhereAreRefused) {
  const int32_t min = std::numeric_limits<int32_t>::min();
  const int32_t max = std::numeric_limits<int32_t>::max();
  for (const char* method :
       {"Push", "InitializeSlice", "Pull", "GetPositions"}) {
    for (const int32_t wrong : {-1, 1, 2, 100, min, max}) {
      for (const auto& change : std::vector<std::function<void(SliceMessage*)>>{
               [&](SliceMessage* m) { m->mutable_worker()->set_rank(wrong); },
               [&](SliceMessage* m) { m->set_bucket(wrong); },
               [&](SliceMessage* m) { m->set_slice(wrong); }}) {
        SliceMessage header = Header();
        change(&header);
        const absl::Status status =
            worker_.Call(method, MessageBytes(header, Payload())).status();
        EXPECT_TRUE(absl::IsInvalidArgument(status)) << method << status;
      }
    }
    SliceMessage header = Header();
    header.mutable_worker()->set_incarnation(kIncarnation + 1);
    EXPECT_TRUE(absl::IsFailedPrecondition(
        worker_.Call(method, MessageBytes(header, Payload())).status()));
  }
}

TEST_F(ServerFuzzTest, OtherIterationsAreRefused) {
  for (const int64_t iteration :
       {int64_t{-2}, int64_t{-1}, int64_t{1}, int64_t{2},
        std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max()}) {
    SliceMessage header = Header();
    header.set_iteration(iteration);
    const absl::Status status =
        worker_.Call("Push", MessageBytes(header, Payload())).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
}

TEST_F(ServerFuzzTest, SparseInitialWeightsAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      worker_.Call("InitializeSlice", MessageBytes(Header(), Payload()))
          .status()));
}

// A few bytes of such a code could make the server allocate any number of
// weights.
TEST_F(ServerFuzzTest, InitialWeightsInAShorterCodeAreRefused) {
  std::vector<float> weights(kElements, 0.0f);
  PayloadCodes codes;
  codes.value_code = "qsgd";
  codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_GAMMA);
  const auto payload = EncodeDenseAs(codes, absl::MakeSpan(weights));
  ASSERT_TRUE(payload.ok());
  const absl::Status status =
      worker_.Call("InitializeSlice", MessageBytes(Header(), *payload))
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

// The iteration is wrong, so that a mutation that is still well-formed is
// refused as well, with the other code.
TEST_F(ServerFuzzTest, MutatedPayloadsAreRefused) {
  const uint64_t seed = 31337;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  SliceMessage message = Header();
  message.set_iteration(5);
  const std::vector<std::string> good = GoodPayloads();
  int malformed = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string payload = good[i % good.size()];
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int c = 0; c < changes; ++c) {
      payload[random() % payload.size()] ^=
          static_cast<char>(1 << (random() % 8));
    }
    message.set_payload(payload);
    const absl::Status status =
        worker_.Call("Push", message.SerializeAsString()).status();
    const auto* const bytes = reinterpret_cast<const uint8_t*>(payload.data());
    if (ValidatePayload({{bytes, payload.size()}}, kElements).ok()) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << i << ": " << status;
    } else {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << i << ": " << status;
      ++malformed;
    }
  }
  EXPECT_GT(malformed, 1000);
}

// The messages come from another incarnation, for the same reason.
TEST_F(ServerFuzzTest, MutatedMessagesAreRefused) {
  const uint64_t seed = 4242;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  SliceMessage header = Header();
  header.mutable_worker()->set_incarnation(~kIncarnation);
  header.set_iteration(1000000);
  const std::string good = MessageBytes(header, Payload());
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int c = 0; c < changes; ++c) {
      const size_t at = random() % std::min<size_t>(bytes.size(), 40);
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(random()));
      }
    }
    const char* const methods[] = {"Push", "Pull", "InitializeSlice",
                                   "GetPositions"};
    const absl::Status status = worker_.Call(methods[i % 4], bytes).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status) ||
                absl::IsFailedPrecondition(status))
        << i << ": " << status;
    const grpc::Slice slice(bytes);
    if (!DecodeSliceMessage(grpc::ByteBuffer(&slice, 1)).ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << i << ": " << status;
    }
  }
}

TEST_F(ServerFuzzTest, RandomBytesAreRefused) {
  const uint64_t seed = 777;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const char* const methods[] = {
        "Push",         "Pull",     "InitializeSlice",
        "GetPositions", "Register", "Finish"};
    const absl::Status status = worker_.Call(methods[i % 6], bytes).status();
    // gRPC itself parses the last two methods' messages and reports this code.
    EXPECT_TRUE(absl::IsInvalidArgument(status) ||
                absl::IsFailedPrecondition(status) ||
                (i % 6 > 3 && absl::IsUnimplemented(status)))
        << methods[i % 6] << ", " << i << ": " << status;
  }
}

}  // namespace
}  // namespace ps
