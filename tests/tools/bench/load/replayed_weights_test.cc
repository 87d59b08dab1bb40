#include "tools/bench/load/replayed_weights.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 10001;

class ReplayedWeightsTest : public testing::Test {
 protected:
  ReplayedWeightsTest() {
    ShardMapOptions map;
    map.bucket_sizes = {7000, 3001};
    map.num_servers = 2;
    map.max_slice_elements = 2048;
    shard_map_ = std::make_unique<ShardMap>(*ShardMap::Create(map));
    job_.mutable_cluster()->set_num_workers(3);
    job_.mutable_optimizer()->set_name("sgd");
    job_.mutable_optimizer()->set_learning_rate(0.3);
    job_.mutable_compressor()->set_name("topk");
    job_.mutable_compressor()->set_ratio(0.1);
    Make();
  }

  void Make() {
    const auto source = GeneratedGradients(1);
    ReplayOptions options;
    options.config = job_;
    options.shard_map = shard_map_.get();
    options.source = source.get();
    options.ring = 4;
    options.bytes = 1 << 30;
    auto payloads = ReplayPayloads::Make(options);
    ASSERT_TRUE(payloads.ok()) << payloads.status();
    payloads_ = std::make_unique<ReplayPayloads>(*std::move(payloads));
  }

  // Element by element, iteration by iteration, in one plain loop.
  std::vector<float> Weights(int64_t iterations) {
    std::vector<float> weights(kElements);
    FillFirstReplayWeights(0, absl::MakeSpan(weights));
    const float rate = static_cast<float>(job_.optimizer().learning_rate());
    const int workers = job_.cluster().num_workers();
    for (int64_t t = 0; t < iterations; ++t) {
      int64_t begin = 0;
      for (int b = 0; b < shard_map_->num_buckets(); ++b) {
        for (const Slice& slice : shard_map_->slices(b)) {
          std::vector<float> sum(slice.size());
          for (int rank = 0; rank < workers; ++rank) {
            AddPayload({payloads_->At(rank, t)[b][slice.index].span()},
                       sum.data());
          }
          for (int64_t i = 0; i < slice.size(); ++i) {
            const float change = rate * (sum[i] / static_cast<float>(workers));
            weights[begin + slice.begin + i] -= change;
          }
        }
        begin += shard_map_->bucket_sizes()[b];
      }
    }
    return weights;
  }

  absl::Status Check(int64_t iterations, const std::vector<float>& weights) {
    return CheckReplayedWeights({job_, *shard_map_, *payloads_}, iterations,
                                weights);
  }

  JobConfig job_;
  std::unique_ptr<ShardMap> shard_map_;
  std::unique_ptr<ReplayPayloads> payloads_;
};

TEST_F(ReplayedWeightsTest, EqualWhatAPlainLoopGives) {
  for (const int64_t iterations : {0, 1, 3, 4, 5, 50}) {
    const absl::Status status = Check(iterations, Weights(iterations));
    EXPECT_TRUE(status.ok()) << iterations << ": " << status;
  }
}

TEST_F(ReplayedWeightsTest, SoDoDensePushes) {
  job_.mutable_compressor()->set_name("none");
  Make();
  EXPECT_TRUE(Check(9, Weights(9)).ok()) << Check(9, Weights(9));
}

TEST_F(ReplayedWeightsTest, AnIterationTooManyOrTooFewIsFoundOut) {
  EXPECT_EQ(Check(5, Weights(4)).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Check(4, Weights(5)).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReplayedWeightsTest, OneElementThatIsWrongIsNamedWithBothValues) {
  const std::vector<float> right = Weights(6);
  // Elements in the first slice, in the middle, in another bucket and at the
  // end, which payloads touch or do not touch.
  for (const int64_t i : {0, 1, 2, 5000, 6999, 7000, 10000}) {
    std::vector<float> weights = right;
    weights[i] = std::nextafter(weights[i], 1e9f);
    const absl::Status status = Check(6, weights);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_THAT(status.message(),
                HasSubstr("element " + std::to_string(i) + " of 10001 is "));
    EXPECT_THAT(status.message(), HasSubstr("; must be "));
  }
  std::vector<float> weights = right;
  weights[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Check(6, weights).message(),
              HasSubstr("element 17 of 10001 is nan; must be "));
}

TEST_F(ReplayedWeightsTest, JobsWithOtherRulesAreNotChecked) {
  EXPECT_TRUE(WeightsCanBeChecked(job_).ok());
  const struct {
    void (*change)(JobConfig* job);
    std::string field;
  } cases[] = {
      {[](JobConfig* job) { job->mutable_optimizer()->set_name("adam"); },
       "optimizer.name adam"},
      {[](JobConfig* job) { job->mutable_optimizer()->set_weight_decay(0.5); },
       "optimizer.weight_decay 0.5"},
      {[](JobConfig* job) {
         job->mutable_optimizer()->set_majority_vote(true);
       },
       "optimizer.majority_vote"},
      {[](JobConfig* job) { job->mutable_optimizer()->set_clip_norm(2); },
       "optimizer.clip_norm 2"},
      {[](JobConfig* job) { job->mutable_schedule()->set_name("cosine"); },
       "a schedule"},
      {[](JobConfig* job) { job->mutable_schedule()->set_warmup_updates(3); },
       "a schedule"},
      {[](JobConfig* job) {
         job->mutable_downlink()->set_mode(DownlinkConfig::COMPRESSED);
       },
       "downlink.mode COMPRESSED"},
      {[](JobConfig* job) { job->mutable_downlink()->set_value_code("bf16"); },
       "downlink.value_code bf16"},
      {[](JobConfig* job) {
         job->mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
       },
       "a consistency"},
      {[](JobConfig* job) {
         job->mutable_consistency()->set_step_timeout_seconds(1);
       },
       "a consistency"},
  };
  for (const auto& c : cases) {
    JobConfig job = job_;
    c.change(&job);
    EXPECT_EQ(WeightsCanBeChecked(job).code(),
              absl::StatusCode::kUnimplemented);
    EXPECT_THAT(WeightsCanBeChecked(job).message(), HasSubstr(c.field));
  }
}

}  // namespace
}  // namespace ps
