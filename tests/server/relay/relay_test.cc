// What is left for other workers: when it is answered, kept and forgotten.
#include "server/relay/relay.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr RelayStream kStream = {0, 1, 2};
constexpr int64_t kChunkBytes = 100 + kKeptChunkBytes;

class RelayTest : public ::testing::Test {
 protected:
  // Calls write what they are told, in order.
  void Put(const RelayStream& stream, RelayPlace place,
           const std::string& content = "") {
    ReceivedStageMessage chunk;
    chunk.header.set_number(place.number);
    chunk.header.set_chunk(static_cast<int32_t>(place.chunk));
    // Stands for the content, which the relay does not read.
    chunk.header.set_digest(content.empty() ? 0 : content[0]);
    chunk.message_bytes = 100;
    const std::string name =
        absl::StrCat("put ", place.number, ".", place.chunk, content);
    relay_.Put(stream, std::move(chunk), [this, name](const auto& status) {
      told_.push_back(
          absl::StrCat(name, " ", absl::StatusCodeToString(status.code())));
      message_ = std::string(status.message());
    });
  }
  void Put(int64_t number) { Put(kStream, {number, 0}); }

  void Get(const RelayStream& stream, RelayPlace place) {
    relay_.Get(stream, place, [this](const auto& chunk) {
      if (!chunk.ok()) {
        told_.push_back(absl::StrCat(
            "get ", absl::StatusCodeToString(chunk.status().code())));
        message_ = std::string(chunk.status().message());
        return;
      }
      const AuxMessage& header = (*chunk)->header;
      told_.push_back(
          absl::StrCat("got ", header.number(), ".", header.chunk()));
      if (header.digest() > 0) {
        told_.back().push_back(static_cast<char>(header.digest()));
      }
    });
  }
  void Get(int64_t number) { Get(kStream, {number, 0}); }

  // What calls were told since the last time.
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

  std::vector<std::string> told_;
  std::string message_;  // The last error's.
  Relay relay_{/*num_workers=*/3, /*credit_bytes=*/3 * kChunkBytes};
};

TEST_F(RelayTest, APutIsAnsweredWhenALaterOneIsAskedFor) {
  Put(5);
  Put(6);
  EXPECT_THAT(Told(), IsEmpty());
  Get(5);
  EXPECT_THAT(Told(), ElementsAre("got 5.0"));
  Get(6);
  EXPECT_THAT(Told(), ElementsAre("put 5.0 OK", "got 6.0"));
  EXPECT_EQ(relay_.held_bytes(0), kChunkBytes);
  Get(7);
  EXPECT_THAT(Told(), ElementsAre("put 6.0 OK"));
  EXPECT_EQ(relay_.held_bytes(0), 0);
}

TEST_F(RelayTest, AGetWaits) {
  Get(5);
  Put(6);
  EXPECT_THAT(Told(), IsEmpty());
  Put(5);
  EXPECT_THAT(Told(), ElementsAre("got 5.0"));
}

TEST_F(RelayTest, TheSameCanBeAskedForAgain) {
  Put(5);
  Get(5);
  Get(5);
  EXPECT_THAT(Told(), ElementsAre("got 5.0", "got 5.0"));
}

TEST_F(RelayTest, WhoeverAsksAgainTakesThePlaceOfTheCallBefore) {
  Get(5);
  Get(5);
  EXPECT_THAT(Told(), ElementsAre("get CANCELLED"));
  Put(5);
  EXPECT_THAT(Told(), ElementsAre("got 5.0"));
}

TEST_F(RelayTest, ARepeatChangesNothing) {
  Put(kStream, {5, 0}, "a");
  Put(kStream, {5, 0}, "b");
  EXPECT_THAT(Told(), ElementsAre("put 5.0a CANCELLED"));
  EXPECT_EQ(relay_.held_bytes(0), kChunkBytes);
  Get(5);
  EXPECT_THAT(Told(), ElementsAre("got 5.0a"));
  Get(6);
  EXPECT_THAT(Told(), ElementsAre("put 5.0b OK"));
  Put(kStream, {5, 0}, "c");
  EXPECT_THAT(Told(), ElementsAre("put 5.0c OK")) << "already forgotten";
  EXPECT_EQ(relay_.held_bytes(0), 0);
}

TEST_F(RelayTest, WhatIsForgottenCannotBeAskedFor) {
  Put(5);
  Get(6);
  EXPECT_THAT(Told(), ElementsAre("put 5.0 OK"));
  Get(5);
  EXPECT_THAT(Told(), ElementsAre("get INVALID_ARGUMENT"));
  EXPECT_THAT(message_,
              HasSubstr("chunk 0 of array 5 of stream 2 from worker 0 to "
                        "worker 1 was forgotten when chunk 0 of array 6"));
  Put(6);
  EXPECT_THAT(Told(), ElementsAre("got 6.0")) << "the first call still waits";
}

TEST_F(RelayTest, ChunksComeInAnyOrder) {
  Put(kStream, {5, 1});
  Get(kStream, {5, 0});
  Put(kStream, {6, 0});
  EXPECT_THAT(Told(), IsEmpty());
  Put(kStream, {5, 0});
  Get(kStream, {5, 1});
  Get(kStream, {6, 0});
  EXPECT_THAT(Told(), ElementsAre("got 5.0", "put 5.0 OK", "got 5.1",
                                  "put 5.1 OK", "got 6.0"));
}

TEST_F(RelayTest, StreamsAreApart) {
  const std::vector<RelayStream> streams = {
      {0, 1, 2}, {0, 2, 2}, {1, 0, 2}, {0, 1, 3}};
  const std::string contents = "abcd";
  for (size_t i = 0; i < streams.size(); ++i) {
    Put(streams[i], {5, 0}, contents.substr(i, 1));
  }
  EXPECT_THAT(Told(), ElementsAre());
  for (const RelayStream& stream : streams) Get(stream, {5, 0});
  EXPECT_THAT(Told(),
              ElementsAre("got 5.0a", "got 5.0b", "got 5.0c", "got 5.0d"));
  Get({0, 1, 2}, {6, 0});
  EXPECT_THAT(Told(), ElementsAre("put 5.0a OK"));
}

TEST_F(RelayTest, ASenderHasItsCreditAndNoMore) {
  for (int64_t number = 0; number < 4; ++number) Put(number);
  EXPECT_THAT(Told(), ElementsAre("put 3.0 UNAVAILABLE"));
  EXPECT_THAT(message_, HasSubstr("arrays for other workers that wait here"));
  EXPECT_EQ(relay_.held_bytes(0), 3 * kChunkBytes);
  Put(RelayStream{1, 0, 0}, {0, 0});
  EXPECT_THAT(Told(), IsEmpty()) << "each for itself";
  Put(1);
  EXPECT_THAT(Told(), ElementsAre("put 1.0 CANCELLED"))
      << "a repeat needs no credit";
  Get(1);
  EXPECT_THAT(Told(), ElementsAre("put 0.0 OK", "got 1.0"));
  Put(3);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(RelayTest, AnAnswerOnItsWayCounts) {
  std::shared_ptr<const ReceivedStageMessage> answer;
  Put(0);
  relay_.Get(kStream, {0, 0}, [&](const auto& chunk) { answer = *chunk; });
  Get(1);
  EXPECT_EQ(relay_.held_bytes(0), kChunkBytes);
  answer = nullptr;
  EXPECT_EQ(relay_.held_bytes(0), 0);
}

TEST_F(RelayTest, AtTheEndAllAreTold) {
  Put(5);
  Get({1, 0, 2}, {0, 0});
  relay_.End(absl::OkStatus());
  EXPECT_THAT(Told(), ElementsAre("put 5.0 OK", "get ABORTED"));
  EXPECT_EQ(relay_.held_bytes(0), 0);
  Put(6);
  Get(6);
  EXPECT_THAT(Told(), ElementsAre("put 6.0 OK", "get ABORTED"));
}

TEST_F(RelayTest, AtAFailureAllAreToldTheReason) {
  Put(5);
  Get({1, 0, 2}, {0, 0});
  relay_.End(absl::UnavailableError("a worker was lost"));
  EXPECT_THAT(Told(), ElementsAre("put 5.0 UNAVAILABLE", "get UNAVAILABLE"));
  Get(6);
  EXPECT_THAT(Told(), ElementsAre("get UNAVAILABLE"));
  EXPECT_EQ(message_, "a worker was lost");
}

}  // namespace
}  // namespace ps
