#include "data/sampler.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

SamplerOptions Options(int64_t num_examples, int64_t batch_size,
                       int num_workers) {
  SamplerOptions options;
  options.seed = 1;
  options.num_examples = num_examples;
  options.batch_size = batch_size;
  options.num_workers = num_workers;
  return options;
}

Sampler Make(const SamplerOptions& options) {
  auto sampler = Sampler::Create(options);
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  return *std::move(sampler);
}

// The examples that all workers together read in an epoch.
std::vector<int64_t> Epoch(Sampler* sampler, int64_t epoch, int num_workers) {
  std::vector<int64_t> all;
  const int64_t iterations = sampler->iterations_per_epoch();
  for (int64_t i = epoch * iterations; i < (epoch + 1) * iterations; ++i) {
    for (int rank = 0; rank < num_workers; ++rank) {
      const absl::Span<const int64_t> numbers = sampler->Numbers(i, rank);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
  }
  return all;
}

TEST(SamplerTest, EveryExampleIsReadAtMostOnceInAnEpoch) {
  Sampler sampler = Make(Options(101, 7, 3));
  EXPECT_EQ(sampler.iterations_per_epoch(), 4);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<int64_t> numbers = Epoch(&sampler, epoch, 3);
    EXPECT_EQ(numbers.size(), 84);
    const std::set<int64_t> distinct(numbers.begin(), numbers.end());
    EXPECT_EQ(distinct.size(), 84);
    EXPECT_GE(*distinct.begin(), 0);
    EXPECT_LT(*distinct.rbegin(), 101);
  }
}

TEST(SamplerTest, AnEpochThatFitsReadsEveryExampleOnce) {
  Sampler sampler = Make(Options(24, 4, 2));
  std::vector<int64_t> numbers = Epoch(&sampler, 5, 2);
  std::sort(numbers.begin(), numbers.end());
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(numbers.at(i), i);
}

TEST(SamplerTest, ManyWorkersReadWhatOneWithTheWholeBatchReads) {
  Sampler one = Make(Options(1000, 60, 1));
  for (const int num_workers : {2, 3, 5}) {
    Sampler many = Make(Options(1000, 60 / num_workers, num_workers));
    for (int64_t iteration : {0, 15, 16, 40}) {
      std::vector<int64_t> together;
      for (int rank = 0; rank < num_workers; ++rank) {
        const absl::Span<const int64_t> numbers = many.Numbers(iteration, rank);
        together.insert(together.end(), numbers.begin(), numbers.end());
      }
      EXPECT_EQ(together, one.Numbers(iteration, 0));
    }
  }
}

TEST(SamplerTest, TheOrderOfCallsDoesNotShow) {
  Sampler forward = Make(Options(50, 5, 2));
  std::vector<std::vector<int64_t>> expected;
  for (int64_t i = 0; i < 20; ++i) {
    const auto numbers = forward.Numbers(i, 1);
    expected.emplace_back(numbers.begin(), numbers.end());
  }
  Sampler backward = Make(Options(50, 5, 2));
  for (int64_t i = 19; i >= 0; --i) {
    EXPECT_EQ(backward.Numbers(i, 1), expected[i]) << "iteration " << i;
  }
}

TEST(SamplerTest, EpochsAndSeedsDiffer) {
  Sampler sampler = Make(Options(100, 10, 1));
  EXPECT_NE(Epoch(&sampler, 0, 1), Epoch(&sampler, 1, 1));
  SamplerOptions options = Options(100, 10, 1);
  options.seed = 2;
  Sampler other = Make(options);
  EXPECT_NE(Epoch(&sampler, 0, 1), Epoch(&other, 0, 1));
}

TEST(SamplerTest, WhatAnEpochLeavesOutChanges) {
  Sampler sampler = Make(Options(10, 9, 1));
  std::set<int64_t> left_out;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    const absl::Span<const int64_t> numbers = sampler.Numbers(epoch, 0);
    for (int64_t i = 0; i < 10; ++i) {
      if (std::count(numbers.begin(), numbers.end(), i) == 0) {
        left_out.insert(i);
      }
    }
  }
  // The probability that one of ten is never left out is below 10 x 0.9^100 <
  // 0.0003.
  EXPECT_EQ(left_out.size(), 10);
}

// Counts each of the 3! orders of three examples, over many epochs.
TEST(SamplerTest, AllOrdersAreEquallyLikely) {
  Sampler sampler = Make(Options(3, 3, 1));
  std::map<std::vector<int64_t>, int> count;
  for (int64_t epoch = 0; epoch < 6000; ++epoch) {
    const auto order = sampler.Numbers(epoch, 0);
    ++count[std::vector<int64_t>(order.begin(), order.end())];
  }
  EXPECT_EQ(count.size(), 6);
  // The deviation of each count is sqrt(6000 x 1/6 x 5/6) = 29; allows five.
  for (const auto& entry : count) EXPECT_NEAR(entry.second, 1000, 145);
}

SamplerOptions Sequential(int64_t num_examples, int64_t batch_size,
                          int num_workers) {
  SamplerOptions options = Options(num_examples, batch_size, num_workers);
  options.order = ExampleOrder::kSequential;
  return options;
}

TEST(SequentialSamplerTest, EveryExampleIsReadAtMostOnceInAnEpoch) {
  Sampler sampler = Make(Sequential(101, 7, 3));
  EXPECT_EQ(sampler.iterations_per_epoch(), 4);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    const std::vector<int64_t> numbers = Epoch(&sampler, epoch, 3);
    EXPECT_EQ(numbers.size(), 84);
    const std::set<int64_t> distinct(numbers.begin(), numbers.end());
    EXPECT_EQ(distinct.size(), 84);
    // Even epochs begin with the first example, odd ones end with the last.
    EXPECT_EQ(*distinct.begin(), epoch % 2 == 0 ? 0 : 17);
    EXPECT_EQ(*distinct.rbegin(), epoch % 2 == 0 ? 83 : 100);
  }
}

TEST(SequentialSamplerTest, WhereABatchContinuesEachRowIsOneExampleFurther) {
  Sampler sampler = Make(Sequential(50, 4, 2));
  for (int rank = 0; rank < 2; ++rank) {
    for (int64_t i = 1; i < 3 * sampler.iterations_per_epoch(); ++i) {
      const auto before = sampler.Numbers(i - 1, rank);
      std::vector<int64_t> next(before.begin(), before.end());
      for (int64_t& number : next) ++number;
      EXPECT_EQ(sampler.Continues(i), sampler.Numbers(i, rank) == next) << i;
    }
  }
}

TEST(SequentialSamplerTest, AnEpochBeginsAnew) {
  Sampler sampler = Make(Sequential(50, 4, 2));
  ASSERT_EQ(sampler.iterations_per_epoch(), 6);
  EXPECT_FALSE(sampler.Continues(0));
  EXPECT_TRUE(sampler.Continues(1));
  EXPECT_TRUE(sampler.Continues(5));
  EXPECT_FALSE(sampler.Continues(6));
  EXPECT_THAT(sampler.Numbers(0, 1), ElementsAre(24, 30, 36, 42));
  // 2 of 50 are left over.
  EXPECT_THAT(sampler.Numbers(6, 1), ElementsAre(26, 32, 38, 44));
  EXPECT_THAT(sampler.Numbers(7, 1), ElementsAre(27, 33, 39, 45));
  EXPECT_THAT(sampler.Numbers(12, 1), ElementsAre(24, 30, 36, 42));
}

TEST(SequentialSamplerTest, ManyWorkersReadWhatOneWithTheWholeBatchReads) {
  Sampler one = Make(Sequential(1000, 60, 1));
  for (const int num_workers : {2, 3, 5}) {
    Sampler many = Make(Sequential(1000, 60 / num_workers, num_workers));
    for (int64_t iteration : {0, 15, 16, 40}) {
      std::vector<int64_t> together;
      for (int rank = 0; rank < num_workers; ++rank) {
        const absl::Span<const int64_t> numbers = many.Numbers(iteration, rank);
        together.insert(together.end(), numbers.begin(), numbers.end());
      }
      EXPECT_EQ(together, one.Numbers(iteration, 0));
      EXPECT_EQ(many.Continues(iteration), one.Continues(iteration));
    }
  }
}

TEST(SamplerTest, ShuffledExamplesNeverContinue) {
  Sampler sampler = Make(Options(10, 2, 1));
  for (int64_t i = 0; i < 10; ++i) EXPECT_FALSE(sampler.Continues(i));
}

TEST(SamplerTest, RefusesWhatHasNoFullBatch) {
  for (const SamplerOptions& options :
       {Options(0, 1, 1), Options(10, 0, 1), Options(10, 1, 0),
        Options(-1, 1, 1), Options(10, 6, 2), Options(10, 11, 1),
        Options(INT64_MAX, INT64_MAX / 2, 1024)}) {
    EXPECT_EQ(Sampler::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument)
        << options.num_examples << " " << options.batch_size << " "
        << options.num_workers;
  }
  EXPECT_TRUE(Sampler::Create(Options(10, 5, 2)).ok());
}

}  // namespace
}  // namespace ps
