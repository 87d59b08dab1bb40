#include "tools/bench/load/replay_payloads.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compressors/payload/payload.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

ReplayLimits Limits(int64_t workers, int64_t ring, int64_t bytes) {
  ReplayLimits limits;
  limits.workers = workers;
  limits.elements = 1000;
  limits.ring = ring;
  limits.bytes = bytes;
  return limits;
}

void ExpectPlan(const ReplayPlan& plan, int64_t streams, int64_t ring) {
  EXPECT_EQ(plan.streams, streams);
  EXPECT_EQ(plan.ring, ring);
}

TEST(PlanReplay, EveryWorkerHasItsOwnWhereThereIsRoom) {
  ExpectPlan(PlanReplay(Limits(5, 8, 4000), 100), 5, 8);
  ExpectPlan(PlanReplay(Limits(5, 8, 1 << 30), 100), 5, 8);
}

TEST(PlanReplay, ThenWorkersShareAndThenTheRingIsShorter) {
  ExpectPlan(PlanReplay(Limits(5, 8, 3999), 100), 4, 8);
  ExpectPlan(PlanReplay(Limits(5, 8, 800), 100), 1, 8);
  ExpectPlan(PlanReplay(Limits(5, 8, 799), 100), 1, 7);
  // At least something is pushed, however large it is.
  ExpectPlan(PlanReplay(Limits(5, 8, 99), 100), 1, 1);
  ExpectPlan(PlanReplay(Limits(5, 8, 0), 0), 1, 1);
}

TEST(PlanReplay, LargeModelsAreNotCompressedForMinutes) {
  ReplayLimits limits = Limits(64, 8, int64_t{1} << 40);
  limits.elements = kMaxPreparedElements / 16;
  ExpectPlan(PlanReplay(limits, 1), 2, 8);
  limits.elements = 2 * kMaxPreparedElements;
  ExpectPlan(PlanReplay(limits, 1), 1, 1);
}

class ReplayPayloadsTest : public testing::Test {
 protected:
  ReplayPayloadsTest() {
    // Two buckets, and a slice size that does not divide them.
    ShardMapOptions map;
    map.bucket_sizes = {7000, 3001};
    map.num_servers = 2;
    map.max_slice_elements = 1024;
    shard_map_ = std::make_unique<ShardMap>(*ShardMap::Create(map));
    options_.config.mutable_cluster()->set_num_workers(3);
    options_.config.mutable_compressor()->set_name("none");
    options_.shard_map = shard_map_.get();
    options_.source = source_.get();
    options_.ring = 2;
    options_.bytes = int64_t{1} << 30;
  }

  ReplayPayloads Make() {
    auto payloads = ReplayPayloads::Make(options_);
    EXPECT_TRUE(payloads.ok()) << payloads.status();
    return *std::move(payloads);
  }

  // The whole model that a worker pushes in an iteration.
  std::vector<float> Pushed(const ReplayPayloads& payloads, int64_t rank,
                            int64_t iteration) {
    std::vector<float> model;
    for (int b = 0; b < shard_map_->num_buckets(); ++b) {
      const auto& parts = payloads.At(rank, iteration)[b];
      const auto& slices = shard_map_->slices(b);
      EXPECT_EQ(parts.size(), slices.size());
      for (size_t i = 0; i < parts.size(); ++i) {
        const PayloadPieces pieces = {parts[i].span()};
        const auto info = ValidatePayload(pieces, slices[i].size());
        EXPECT_TRUE(info.ok()) << info.status();
        std::vector<float> slice(slices[i].size());
        AddPayload(pieces, slice.data());
        model.insert(model.end(), slice.begin(), slice.end());
      }
    }
    return model;
  }

  std::vector<float> Gradient(int64_t number) {
    std::vector<float> gradient(10001);
    EXPECT_TRUE(source_->Read(number, 0, absl::MakeSpan(gradient)).ok());
    return gradient;
  }

  const std::unique_ptr<GradientSource> source_ = GeneratedGradients(1);
  std::unique_ptr<ShardMap> shard_map_;
  ReplayOptions options_;
};

TEST_F(ReplayPayloadsTest, WithoutCompressionTheyAreTheGradients) {
  const ReplayPayloads payloads = Make();
  ExpectPlan(payloads.plan(), 3, 2);
  for (int64_t rank = 0; rank < 3; ++rank) {
    for (int64_t iteration = 0; iteration < 2; ++iteration) {
      EXPECT_EQ(Pushed(payloads, rank, iteration),
                Gradient(2 * rank + iteration))
          << rank << ", " << iteration;
    }
  }
}

TEST_F(ReplayPayloadsTest, TheRingIsReplayedAndWorkersShareStreams) {
  options_.bytes = 4 * 10001 * 5;  // A bit less than five, with headers.
  const ReplayPayloads payloads = Make();
  ExpectPlan(payloads.plan(), 2, 2);
  EXPECT_EQ(Pushed(payloads, 2, 0), Pushed(payloads, 0, 0));
  EXPECT_EQ(Pushed(payloads, 1, 7), Pushed(payloads, 1, 1));
  EXPECT_NE(Pushed(payloads, 0, 0), Pushed(payloads, 1, 0));
}

TEST_F(ReplayPayloadsTest, BytesAreThoseOfThePayloads) {
  const ReplayPayloads payloads = Make();
  int64_t total = 0;
  for (int64_t rank = 0; rank < 3; ++rank) {
    for (int64_t iteration = 0; iteration < 2; ++iteration) {
      int64_t bytes = 0;
      for (int b = 0; b < 2; ++b) {
        for (const auto& part : payloads.At(rank, iteration)[b]) {
          bytes += static_cast<int64_t>(part.size_bytes());
        }
      }
      EXPECT_EQ(payloads.IterationBytes(rank, iteration), bytes);
      EXPECT_GE(bytes, 4 * 10001);
      total += bytes;
    }
  }
  EXPECT_EQ(payloads.total_bytes(), total);
}

TEST_F(ReplayPayloadsTest, WhatACompressorKeepsBackComesLater) {
  options_.config.mutable_compressor()->set_name("topk");
  options_.config.mutable_compressor()->set_ratio(0.5);
  const ReplayPayloads with_residual = Make();
  options_.config.mutable_compressor()->set_error_feedback(false);
  const ReplayPayloads without = Make();
  // The first iteration starts with a zero residual.
  EXPECT_EQ(Pushed(with_residual, 1, 0), Pushed(without, 1, 0));
  EXPECT_NE(Pushed(with_residual, 1, 1), Pushed(without, 1, 1));
  // Each iteration sends half of each bucket.
  const std::vector<float> pushed = Pushed(with_residual, 1, 1);
  EXPECT_EQ(std::count(pushed.begin(), pushed.end(), 0.0f), 3500 + 1501);
  // Making it again gives the same bits.
  EXPECT_EQ(Pushed(Make(), 1, 1), Pushed(without, 1, 1));
}

TEST_F(ReplayPayloadsTest, AnUnknownCompressorIsAnError) {
  options_.config.mutable_compressor()->set_name("topkk");
  EXPECT_EQ(ReplayPayloads::Make(options_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps
