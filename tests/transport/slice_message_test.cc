// Compares the hand-written codec with protobuf's own, and tests it with bytes
// that no honest peer would send.
#include "transport/slice_message.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

SliceMessage Header() {
  SliceMessage header;
  header.mutable_worker()->set_rank(3);
  header.mutable_worker()->set_incarnation(0x123456789abcdef0);
  header.set_bucket(7);
  header.set_slice(300);
  header.set_iteration(int64_t{1} << 40);
  header.set_loss(0.25);
  header.set_sent_elements(17);
  header.set_bytes_up(-1);
  return header;
}

// Contains bytes of every value, so that tags and lengths occur among them.
std::string PayloadText(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text.push_back(static_cast<char>(i * 37 + i / 256));
  }
  return text;
}

PayloadBuffer Buffer(const std::string& bytes) {
  PayloadBuffer buffer = PayloadBuffer::Allocate(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

std::string Flatten(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// `bytes` as a message of several slices, cut at `cuts` (ascending).
grpc::ByteBuffer Cut(const std::string& bytes, std::vector<size_t> cuts) {
  std::vector<grpc::Slice> slices;
  cuts.push_back(bytes.size());
  size_t begin = 0;
  for (const size_t end : cuts) {
    slices.emplace_back(bytes.data() + begin, end - begin);
    begin = end;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string PayloadOf(const ReceivedSliceMessage& message) {
  std::string bytes;
  for (const auto& piece : message.payload.pieces) {
    bytes.append(piece.begin(), piece.end());
  }
  return bytes;
}

std::string Serialized(const SliceMessage& header, const std::string& payload) {
  SliceMessage message = header;
  message.set_payload(payload);
  return message.SerializeAsString();
}

TEST(SliceMessageTest, ProtobufReadsWhatWeWrite) {
  for (const size_t size : {0, 1, 127, 128, 5000, 100000}) {
    const std::string payload = PayloadText(size);
    SliceMessage read;
    ASSERT_TRUE(read.ParseFromString(
        Flatten(EncodeSliceMessage(Header(), Buffer(payload)))));
    EXPECT_EQ(read.payload(), payload);
    read.clear_payload();
    EXPECT_TRUE(MessageDifferencer::Equals(read, Header()))
        << read.ShortDebugString();
  }
}

TEST(SliceMessageTest, WeReadWhatProtobufWrites) {
  for (const size_t size : {1, 127, 128, 5000, 100000}) {
    const std::string payload = PayloadText(size);
    const std::string bytes = Serialized(Header(), payload);
    const auto read = DecodeSliceMessage(Cut(bytes, {}));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(PayloadOf(*read), payload);
    EXPECT_TRUE(MessageDifferencer::Equals(read->header, Header()));
    EXPECT_EQ(read->message_bytes, static_cast<int64_t>(bytes.size()));
  }
}

TEST(SliceMessageTest, AMessageWithoutPayloadHasNone) {
  for (const SliceMessage& header : {Header(), SliceMessage()}) {
    const auto read = DecodeSliceMessage(Cut(header.SerializeAsString(), {}));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(MessageDifferencer::Equals(read->header, header));
    EXPECT_EQ(PayloadOf(*read), "");
  }
}

TEST(SliceMessageTest, ABufferThatWasNeverFilledIsRefused) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(DecodeSliceMessage(grpc::ByteBuffer()).status()));
}

TEST(SliceMessageTest, CutsBetweenNetworkSlicesDoNotMatter) {
  const std::string payload = PayloadText(300);
  const std::string bytes = Serialized(Header(), payload);
  for (size_t i = 0; i <= bytes.size(); ++i) {
    for (const size_t j : {i, i + 1, bytes.size()}) {
      if (j > bytes.size()) continue;
      const auto read = DecodeSliceMessage(Cut(bytes, {i, j}));
      ASSERT_TRUE(read.ok())
          << "cut at " << i << ", " << j << ": " << read.status();
      EXPECT_EQ(PayloadOf(*read), payload);
      EXPECT_TRUE(MessageDifferencer::Equals(read->header, Header()));
    }
  }
}

TEST(SliceMessageTest, AllOneByteSlicesAreOneMessage) {
  const std::string bytes = Serialized(Header(), PayloadText(5000));
  std::vector<size_t> cuts(bytes.size() - 1);
  for (size_t i = 0; i < cuts.size(); ++i) cuts[i] = i + 1;
  const auto read = DecodeSliceMessage(Cut(bytes, cuts));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PayloadOf(*read), PayloadText(5000));
}

TEST(SliceMessageTest, ThePayloadIsNotCopied) {
  const PayloadBuffer payload = Buffer(PayloadText(10000));
  const grpc::ByteBuffer message = EncodeSliceMessage(Header(), payload);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(message.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].begin(), payload.data());
  EXPECT_EQ(slices[1].size(), payload.size_bytes());

  const auto read = DecodeSliceMessage(message);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->payload.pieces.size(), 1u);
  EXPECT_EQ(read->payload.pieces[0].data(), payload.data());
}

TEST(SliceMessageTest, PiecesOutliveTheMessageAndTheSendersHandle) {
  absl::StatusOr<ReceivedSliceMessage> read = absl::UnknownError("");
  {
    PayloadBuffer payload = Buffer(PayloadText(10000));
    const grpc::ByteBuffer message = EncodeSliceMessage(Header(), payload);
    payload = PayloadBuffer();
    read = DecodeSliceMessage(message);
  }
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(PayloadOf(*read), PayloadText(10000));
}

// A prefix is a valid message only if it ends between fields. It is then the
// message that protobuf reads from it, without a payload.
TEST(SliceMessageTest, TruncatedMessagesAreRefused) {
  const std::string bytes = Serialized(Header(), PayloadText(300));
  const size_t header_bytes = Header().ByteSizeLong();
  int refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string prefix = bytes.substr(0, length);
    const auto read = DecodeSliceMessage(Cut(prefix, {length / 2}));
    SliceMessage expected;
    const bool whole =
        length <= header_bytes && expected.ParseFromString(prefix);
    EXPECT_EQ(read.ok(), whole) << length << " bytes: " << read.status();
    if (read.ok()) {
      EXPECT_TRUE(MessageDifferencer::Equals(read->header, expected));
      EXPECT_EQ(PayloadOf(*read), "");
    } else {
      EXPECT_TRUE(absl::IsInvalidArgument(read.status()));
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(SliceMessageTest, MutatedBytesAreRefusedOrReadAsProtobufReadsThem) {
  const uint64_t seed = 20240717;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string original = Serialized(Header(), PayloadText(40));
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = original;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int c = 0; c < changes; ++c) {
      const size_t at = random() % bytes.size();
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
    const auto read =
        DecodeSliceMessage(Cut(bytes, {random() % (bytes.size() + 1)}));
    if (!read.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
      ++refused;
      continue;
    }
    ++accepted;
    SliceMessage expected;
    ASSERT_TRUE(expected.ParseFromString(bytes)) << "mutation " << i;
    EXPECT_EQ(PayloadOf(*read), expected.payload()) << "mutation " << i;
    expected.clear_payload();
    // Compares bytes, because a mutated loss may be a NaN, and unknown fields
    // must match as well.
    EXPECT_EQ(read->header.SerializeAsString(), expected.SerializeAsString())
        << "mutation " << i;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 1000);
}

TEST(SliceMessageTest, RandomBytesAreRefusedOrReadAsProtobufReadsThem) {
  const uint64_t seed = 20240718;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const auto read = DecodeSliceMessage(Cut(bytes, {}));
    if (!read.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    } else {
      EXPECT_TRUE(SliceMessage().ParseFromString(bytes)) << "message " << i;
    }
  }
}

TEST(SliceMessageTest, AHeaderOverTheLimitIsRefused) {
  // Unknown fields are skipped, but only within the limit. Field 20, length n.
  const auto padded = [](size_t header_bytes) {
    const std::string known = Header().SerializeAsString();
    const size_t rest = header_bytes - known.size() - 4;
    std::string bytes = known;
    bytes += "\xa2\x01";
    bytes += static_cast<char>(0x80 | (rest & 0x7f));
    bytes += static_cast<char>(rest >> 7);
    bytes += std::string(rest, 'x');
    EXPECT_EQ(bytes.size(), header_bytes);
    SliceMessage payload;
    payload.set_payload("abc");
    return bytes + payload.SerializeAsString();
  };
  EXPECT_TRUE(
      DecodeSliceMessage(Cut(padded(kMaxSliceHeaderBytes - 2), {})).ok());
  for (const size_t size : {kMaxSliceHeaderBytes, 2 * kMaxSliceHeaderBytes}) {
    const absl::Status status =
        DecodeSliceMessage(Cut(padded(size), {})).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("longer than 4096"));
  }
}

TEST(SliceMessageTest, APayloadThatIsNotLastIsRefused) {
  SliceMessage payload;
  payload.set_payload("abc");
  const std::string bytes =
      payload.SerializeAsString() + Header().SerializeAsString();
  ASSERT_TRUE(SliceMessage().ParseFromString(bytes)) << "valid protobuf";
  const absl::Status status = DecodeSliceMessage(Cut(bytes, {})).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("must be the last"));
}

TEST(SliceMessageTest, APayloadThatComesTwiceIsRefused) {
  const std::string once = Serialized(Header(), "abc");
  SliceMessage payload;
  payload.set_payload("defg");
  const absl::Status status =
      DecodeSliceMessage(Cut(once + payload.SerializeAsString(), {})).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST(SliceMessageTest, ALengthBeyondAllBoundsIsRefused) {
  // Payload tag, then the varint of 2^64 - 1.
  const std::string huge = "\x7a" + std::string(9, '\xff') + "\x01";
  const absl::Status status = DecodeSliceMessage(Cut(huge, {})).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("18446744073709551615"));
}

TEST(SliceMessageTest, MessagesOfTheLargestSliceFitTheLimit) {
  for (const int64_t elements : {1 << 10, 1 << 20, 1 << 24}) {
    const int64_t payload =
        static_cast<int64_t>(kPayloadHeaderBytes) + 8 * elements;
    EXPECT_GE(MaxMessageBytes(elements), payload + kMaxSliceHeaderBytes + 11);
    EXPECT_LT(MaxMessageBytes(elements), int64_t{1} << 31);
  }
}

// The example of docs/wire_format.md, up to the payload.
TEST(SliceMessageTest, IsWrittenAsTheDocumentShows) {
  SliceMessage header;
  header.mutable_worker()->set_rank(1);
  header.mutable_worker()->set_incarnation(7);
  header.set_slice(1);
  header.set_iteration(2);
  header.set_loss(0.5);
  const grpc::ByteBuffer message =
      EncodeSliceMessage(header, PayloadBuffer::Allocate(47));
  EXPECT_EQ(message.Length(), 75u);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(message.Dump(&slices).ok());
  const std::vector<uint8_t> expected = {
      0x0a, 0x0b, 0x08, 0x01, 0x11, 0x07, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x18, 0x01, 0x20, 0x02, 0x29, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0xe0, 0x3f, 0x7a, 0x2f};
  EXPECT_EQ(std::vector<uint8_t>(slices[0].begin(), slices[0].end()), expected);
}

}  // namespace
}  // namespace ps
