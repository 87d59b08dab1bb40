// How long the chunks of arrays are, and what a receiver takes for one. What
// servers refuse is in tests/server/relay.
#include "transport/stage_message.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "transport/stage_exchange.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

TEST(StageLimitsTest, OneChunkOfEachStreamFitsIntoHalfOfTheCredit) {
  for (int workers = 2; workers <= 16; ++workers) {
    for (int servers = 1; servers <= 17; ++servers) {
      for (const int64_t megabytes : {1, 10, 64, 1000}) {
        const int64_t credit = megabytes << 20;
        const StageLimits limits =
            StageLimitsFor(workers, servers, credit, 1 << 20);
        EXPECT_GE(limits.chunk_elements, 1);
        EXPECT_LE(limits.chunk_elements, 1 << 20);
        std::vector<int64_t> receivers(servers);
        for (int to = 1; to < workers; ++to) {
          ++receivers[StageServerOf(to, limits)];
        }
        for (const int64_t count : receivers) {
          EXPECT_LE(count * kNumStageStreams *
                        (4 * limits.chunk_elements + 100 + kKeptChunkBytes),
                    credit / 2)
              << workers << " workers, " << servers << " servers";
        }
      }
    }
  }
}

TEST(StageLimitsTest, ChunksCoverAnArray) {
  StageLimits limits;
  limits.chunk_elements = 10;
  for (const int64_t size : {0, 1, 9, 10, 11, 20, 25}) {
    int64_t sum = 0;
    for (int64_t chunk = 0; chunk < NumChunks(size, limits); ++chunk) {
      const int64_t count = ChunkSize(size, chunk, limits);
      EXPECT_TRUE(count > 0 || size == 0);
      sum += count;
    }
    EXPECT_EQ(sum, size);
  }
  EXPECT_EQ(NumChunks(0, limits), 1);
}

// As a server receives it.
ReceivedStageMessage Received(const grpc::ByteBuffer& message) {
  const auto received = DecodeStageMessage(message);
  EXPECT_TRUE(received.ok()) << received.status();
  return *received;
}

ReceivedStageMessage APut(const std::vector<float>& values) {
  AuxMessage header;
  header.mutable_worker()->set_rank(2);
  header.mutable_worker()->set_incarnation(99);
  header.set_peer(1);
  header.set_stream(3);
  header.set_number(7);
  header.set_num_values(static_cast<int64_t>(values.size()));
  const auto copy = std::make_shared<std::vector<float>>(values);
  return Received(EncodeStagePut(header, *copy, copy));
}

TEST(StageMessageTest, AnAnswerHasThePutsValuesAndNamesItsSender) {
  const std::vector<float> values = {1.5, -0.0F, 3};
  const ReceivedStageMessage answer = Received(EncodeStageAnswer(APut(values)));
  EXPECT_FALSE(answer.header.has_worker());
  EXPECT_EQ(answer.header.peer(), 2);
  EXPECT_EQ(answer.header.stream(), 3);
  EXPECT_EQ(answer.header.number(), 7);
  std::vector<float> copied(3);
  const absl::Status status = CopyChunk(answer, 3, absl::MakeSpan(copied));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(copied, values);
}

// Its own protobuf library reads the same.
TEST(StageMessageTest, IsWhatProtobufReads) {
  const ReceivedStageMessage put = APut({1, 2});
  grpc::Slice slice;
  ASSERT_TRUE(EncodeStageAnswer(put).DumpToSingleSlice(&slice).ok());
  AuxMessage message;
  ASSERT_TRUE(
      message.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
  EXPECT_EQ(message.values(), std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  EXPECT_EQ(message.num_values(), 2);
  EXPECT_EQ(message.digest(), put.header.digest());
}

// As in docs/wire_format.md.
TEST(StageMessageTest, TheExampleOfTheDocumentIsWhatIsSent) {
  AuxMessage header;
  header.mutable_worker()->set_incarnation(7);
  header.set_peer(1);
  header.set_number(2);
  header.set_num_values(1);
  const auto value = std::make_shared<std::vector<float>>(1, 0.5F);
  grpc::Slice slice;
  ASSERT_TRUE(
      EncodeStagePut(header, *value, value).DumpToSingleSlice(&slice).ok());
  EXPECT_EQ(absl::BytesToHexString(
                {reinterpret_cast<const char*>(slice.begin()), slice.size()}),
            "0a09110700000000000000"
            "1001"
            "2002"
            "3001"
            "399bfd5d5dedd78dc9"
            "7a040000003f");
}

TEST(StageMessageTest, EveryFlippedBitIsFound) {
  const ReceivedStageMessage answer =
      Received(EncodeStageAnswer(APut({1, 2, 3})));
  std::vector<float> copied(3);
  for (int bit = 0; bit < 96; ++bit) {
    ReceivedStageMessage damaged = answer;
    std::string bytes(answer.values.pieces[0].begin(),
                      answer.values.pieces[0].end());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    damaged.values.pieces = {
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}};
    const absl::Status status = CopyChunk(damaged, 3, absl::MakeSpan(copied));
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("chunk 0 of array 7 of stream 3 from worker 2 was "
                          "damaged"));
  }
}

TEST(StageMessageTest, SizesThatDoNotFitAreFound) {
  const ReceivedStageMessage answer =
      Received(EncodeStageAnswer(APut({1, 2, 3})));
  std::vector<float> copied(4);
  EXPECT_TRUE(
      absl::IsInvalidArgument(CopyChunk(answer, 4, absl::MakeSpan(copied))));
  EXPECT_TRUE(absl::IsDataLoss(CopyChunk(answer, 3, absl::MakeSpan(copied))));
}

}  // namespace
}  // namespace ps
