// What LGC's part at the servers refuses, and what it makes of a saved state.
#include "compressors/lgc/slice_coder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/random.h"
#include "compressors/lgc/autoencoder.h"
#include "compressors/lgc/message.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "compressors/state_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/lgc/leaders_push.h"
#include "tests/compressors/lgc/lgc_cluster.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

TEST(LgcSliceCoder, LearnsNothingFromValuesFarFromTheLeaders) {
  CompressorConfig config = EarlyLgc();
  config.set_error_feedback(false);
  LgcCluster cluster(config, 2);
  cluster.Iterate();
  cluster.Iterate();
  for (const double scale : {1e20, 1e30}) {
    cluster.scale_of_last = scale;
    cluster.Iterate();
    cluster.scale_of_last = 0.001;
    cluster.Iterate();
  }
  int iterations = 0;
  while (!cluster.Iterate().coded) ASSERT_LT(++iterations, 200);
}

// Check 3 of the specification.
TEST(LgcSliceCoder, RefusesWhatItCannotDecode) {
  LgcCluster cluster(EarlyLgc(), 2);
  while (!cluster.Iterate().coded) {
  }
  const SliceCoder& coder = cluster.coder();
  const auto check = [&coder](const LeadersPush& push) {
    return coder.Check({push.Payload().span()}, nullptr).status();
  };
  const LeadersPush good = GoodPush();
  EXPECT_TRUE(check(good).ok()) << check(good);
  const auto refused = [&](const std::string& why, const LeadersPush& push) {
    EXPECT_EQ(check(push).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(check(push).message()), HasSubstr(why));
  };
  LeadersPush bad = good;
  bad.remark.version = 2;
  refused("a code of autoencoder 2; this slice has 1", bad);
  bad = good;
  bad.remark.ranges[1].end = 301;
  refused("elements 150 to 301", bad);
  bad = good;
  bad.remark.ranges = {{10, 20}};
  bad.remark.signs.assign(10, true);
  refused("values for an autoencoder", bad);
  // Many values would take much memory, however they are spread.
  bad = good;
  bad.remark.coded = false;
  bad.indices.resize(kSize / 2);
  std::iota(bad.indices.begin(), bad.indices.end(), 0);
  bad.remark.ranges.clear();
  for (uint32_t i = 0; i < kSize / 2; ++i) {
    bad.remark.ranges.push_back({i, i + 1});
  }
  bad.remark.signs.assign(kSize / 2, true);
  refused("2713 values for an autoencoder; must be", bad);
  bad = good;
  bad.values.code.pop_back();
  refused("an innovation of", bad);
  bad = good;
  bad.values.places = {0, 5, 280};
  refused("place 280", bad);
  bad = good;
  bad.values.places = {0, 5, 5};
  refused("place 5", bad);
  for (const float value : {std::nanf(""), INFINITY, 1e10f}) {
    bad = good;
    bad.values.code[3] = value;
    refused("a value of", bad);
    bad = good;
    bad.values.innovation[0] = value;
    refused("a value of", bad);
    bad = good;
    bad.remark.scale = value * 1e10f;
    refused("a value of", bad);
  }
  bad = good;
  bad.remark.scale = 0;
  refused("a scale of 0", bad);
  bad = good;
  bad.remark.signs.clear();
  refused("signs", bad);
  // A position beyond the slice's end.
  const PayloadBuffer raw =
      EncodeSparse("raw32", good.indices,
                   std::vector<float>(good.indices.size()), 0, kSize)
          .value();
  PayloadBuffer beyond =
      EncodeCoded(raw, Write(good.remark), Write(good.values, 280));
  const std::vector<uint32_t> last = {good.indices.back()};
  uint8_t* const end = beyond.data() + beyond.size_bytes();
  const auto* const bytes = reinterpret_cast<const uint8_t*>(last.data());
  uint8_t* const at = std::search(beyond.data(), end, bytes, bytes + 4);
  ASSERT_NE(at, end);
  EXPECT_TRUE(coder.Check({beyond.span()}, nullptr).ok());
  const uint32_t size = kSize;
  std::memcpy(at, &size, sizeof(size));
  EXPECT_EQ(coder.Check({beyond.span()}, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
  // Followers: only for a leader that sends codes, and without positions of
  // their own.
  const std::string remark = Write(good.remark);
  LeadersPush follower = good;
  follower.values.code.clear();
  const PayloadBuffer plain =
      EncodeSparse("delta_varint", good.indices,
                   std::vector<float>(good.indices.size()), 0, kSize)
          .value();
  const PayloadBuffer own = EncodeCoded(plain, "", Write(follower.values, 280));
  EXPECT_TRUE(coder.Check({own.span()}, &remark).ok());
  const std::string none;
  EXPECT_FALSE(coder.Check({own.span()}, &none).ok());
  EXPECT_FALSE(coder.Check({good.Payload().span()}, &remark).ok());
  // Iteration 21 is the watchdog's.
  while (cluster.iteration() < 21) cluster.Iterate();
  refused("where values are expected", good);
}

TEST(LgcSliceCoder, SurvivesDamagedPushes) {
  LgcCluster cluster(EarlyLgc(), 2);
  while (!cluster.Iterate().coded) {
  }
  StateWriter writer("test");
  cluster.coder().Save(&writer);
  const std::string saved = std::move(writer).Finish();
  SliceCoderOptions options;
  options.config = TestedLgc();
  options.num_elements = kSize;
  options.num_workers = 2;
  const std::unique_ptr<SliceCoder> coder = NewLgcSliceCoder(options);
  const PayloadBuffer good = GoodPush().Payload();
  RandomStream stream(1);
  int accepted = 0;
  for (int i = 0; i < 400; ++i) {
    PayloadBuffer bad = PayloadBuffer::Allocate(good.size_bytes());
    std::copy(good.data(), good.data() + good.size_bytes(), bad.data());
    if (i % 2 == 0) {
      bad.Shrink(stream.Below(bad.size_bytes()));
    } else {
      bad.data()[stream.Below(bad.size_bytes())] ^= 1 << stream.Below(8);
    }
    if (!CodedByCompressor({bad.span()})) continue;
    if (!cluster.coder().Check({bad.span()}, nullptr).ok()) continue;
    ++accepted;
    StateReader reader = StateReader::Open("test", saved).value();
    ASSERT_TRUE(coder->Load(&reader).ok());
    std::vector<CoderPush> pushes(2);
    pushes[0].pieces = {bad.span()};
    pushes[1].rank = 1;
    const PayloadBuffer nothing =
        EncodeSparse("raw32", {}, {}, 0, kSize).value();
    pushes[1].pieces = {nothing.span()};
    // An even iteration, which worker 0 leads.
    EXPECT_TRUE(coder->Apply(1000, absl::MakeSpan(pushes)).ok());
  }
  EXPECT_GT(accepted, 10);
}

// As the specification says of a new worker: it begins with worker 0's decoder.
TEST(LgcSliceCoder, GivesNewWorkersTheFirstDecoder) {
  SliceCoderOptions options;
  options.config = TestedLgc();
  options.num_elements = kSize;
  options.num_workers = 2;
  options.seed = kSeed;
  const auto saved = [](const SliceCoder& coder) {
    StateWriter writer("test");
    coder.Save(&writer);
    return std::move(writer).Finish();
  };
  const std::string two = saved(*NewLgcSliceCoder(options));
  options.num_workers = 3;
  const std::unique_ptr<SliceCoder> three = NewLgcSliceCoder(options);
  StateReader reader = StateReader::Open("test", two).value();
  ASSERT_TRUE(three->Load(&reader).ok());
  const std::string state = saved(*three);
  const uint64_t key = RandomKey(kSeed, uint64_t{0});
  const auto count = [&state, key](int rank) {
    const std::string decoder = FloatBytes(InitialDecoder(key, rank));
    int found = 0;
    for (size_t at = state.find(decoder); at != std::string::npos;
         at = state.find(decoder, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count(0), 2);
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(2), 0);
}

}  // namespace
}  // namespace ps
