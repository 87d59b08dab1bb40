// The chooser on simulated links: what it decides, and how much time it loses.
#include "compressors/automatic/chooser.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/compressors/automatic/simulated_link.h"

namespace ps {
namespace {

constexpr int kIterations = 2000;
constexpr int64_t kDecideEvery = 200;  // The default.
constexpr int kSeeds = 20;

// The time of kIterations, and the choices made in them.
struct Outcome {
  double seconds = 0;
  double dense = 0;       // If all had been dense, without noise.
  double compressed = 0;  // If all had been compressed.
  int changes = 0;        // Decisions that changed the choice.
  int decisions = 0;
  int compressed_iterations = 0;  // With all buckets compressed.
  std::vector<bool> last;         // The last choice decided.

  double Better() const { return std::min(dense, compressed); }
  double Loss() const { return seconds / Better() - 1; }
};

using ChangeLink = std::function<void(int iteration, SimulatedJob* job)>;

// Iterations until all workers follow the choice of one, as in a real job.
constexpr int kDelay = 1;

Outcome Simulate(const SimulatedJob& job, uint64_t seed,
                 const ChangeLink& change = nullptr) {
  SimulatedLink link(job, seed);
  CompressionChooser chooser(job.buckets.size(), kDecideEvery, kDelay);
  std::vector<bool> done = chooser.compressed();
  const std::vector<bool> all(job.buckets.size(), true);
  const std::vector<bool> none(job.buckets.size(), false);
  Outcome outcome;
  for (int i = 0; i < kIterations; ++i) {
    if (change != nullptr) change(i, &link.job());
    outcome.dense += link.Costs(none).seconds;
    outcome.compressed += link.Costs(all).seconds;
    const std::vector<bool> next = chooser.compressed();
    outcome.compressed_iterations += done == all;
    const ExchangeCosts costs = link.Iteration(done);
    outcome.seconds += costs.seconds;
    done = next;
    if (const auto decision = chooser.Observe(costs)) {
      ++outcome.decisions;
      outcome.changes += decision->changed;
      EXPECT_EQ(decision->compressed, chooser.compressed());
      outcome.last = decision->compressed;
    }
  }
  return outcome;
}

// One bucket: an iteration takes `dense` seconds if all dense, and `compressed`
// if all compressed. Half a second of either is computation.
SimulatedJob OneBucket(double dense, double compressed) {
  SimulatedJob job;
  job.compute = 0.5;
  SimulatedBucket bucket;
  bucket.dense_bytes = 1000000;
  bucket.compressed_bytes = 10000;
  if (dense >= compressed) {
    // The link accounts for the difference.
    job.bytes_per_second = 990000 / (dense - compressed + 1e-9);
    bucket.compressed_work = bucket.dense_work =
        std::max(0.0, compressed - 0.5 - 10000 / job.bytes_per_second);
    job.compute =
        compressed - bucket.compressed_work - 10000 / job.bytes_per_second;
  } else {
    // The codec accounts for the difference.
    job.bytes_per_second = 1e9;
    bucket.dense_work = dense - 0.5 - 0.001;
    bucket.compressed_work = compressed - 0.5 - 0.00001;
  }
  job.buckets = {bucket};
  return job;
}

std::vector<SimulatedJob> Jobs() {
  std::vector<SimulatedJob> jobs;
  for (const double factor : {1.0, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0, 5.0, 20.0}) {
    jobs.push_back(OneBucket(factor, 1));
    jobs.push_back(OneBucket(1, factor));
  }
  return jobs;
}

TEST(CompressionChooserTest, LosesLittleWithoutNoise) {
  for (const SimulatedJob& job : Jobs()) {
    const Outcome outcome = Simulate(job, 0);
    EXPECT_LT(outcome.Loss(), 0.05)
        << outcome.dense << " dense, " << outcome.compressed << " compressed";
    if (outcome.dense < 0.96 * outcome.compressed) {
      EXPECT_FALSE(outcome.last[0]);
    }
    if (outcome.compressed < 0.96 * outcome.dense) {
      EXPECT_TRUE(outcome.last[0]);
    }
    EXPECT_LE(outcome.changes, 1);
  }
}

TEST(CompressionChooserTest, LosesLittleInNoise) {
  for (SimulatedJob job : Jobs()) {
    job.noise = 0.2;
    job.switch_factor = 1.5;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const Outcome outcome = Simulate(job, seed);
      EXPECT_LT(outcome.Loss(), 0.05)
          << outcome.dense << " dense, " << outcome.compressed
          << " compressed, seed " << seed << ", " << outcome.changes
          << " changes, " << outcome.decisions << " decisions";
    }
  }
}

// One iteration in fifty takes five times as long, whatever is sent.
TEST(CompressionChooserTest, IterationsThatAreSlowForOtherReasonsDoNotDecide) {
  for (const bool dense_wins : {false, true}) {
    SimulatedJob job = dense_wins ? OneBucket(1, 1.3) : OneBucket(1.3, 1);
    for (int seed = 0; seed < kSeeds; ++seed) {
      std::mt19937_64 random(seed);
      const double compute = job.compute;
      const Outcome outcome =
          Simulate(job, seed, [&](int, SimulatedJob* changed) {
            changed->compute = compute + (random() % 50 == 0 ? 4 : 0);
          });
      EXPECT_EQ(outcome.last[0], !dense_wins);
      EXPECT_LE(outcome.changes, 1);
      EXPECT_LT(outcome.Loss(), 0.05);
    }
  }
}

TEST(CompressionChooserTest, NoiseDoesNotChangeWhatIsAsGood) {
  SimulatedJob job = OneBucket(1, 1);
  job.noise = 0.03;
  for (int seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(Simulate(job, seed).changes, 0) << seed;
  }
}

// Three per cent justify a change, and less does not.
TEST(CompressionChooserTest, ChangesWhereItPays) {
  EXPECT_EQ(Simulate(OneBucket(1, 1.025), 0).changes, 0);
  EXPECT_EQ(Simulate(OneBucket(1, 1.04), 0).changes, 1);
}

TEST(CompressionChooserTest, ProbesOfWhatIsClearlyWorseBecomeRare) {
  SimulatedJob job = OneBucket(2, 1);
  job.noise = 0.2;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = Simulate(job, seed);
    // Probes at 3, 200, 400, 800 and 1600, of two iterations each, and the
    // delay.
    EXPECT_LE(outcome.decisions, 5);
    EXPECT_GE(outcome.compressed_iterations, kIterations - 5 * 4);
  }
}

TEST(CompressionChooserTest, WhatIsVeryMuchWorseIsTriedOnce) {
  const Outcome outcome = Simulate(OneBucket(20, 1), 0);
  EXPECT_EQ(outcome.decisions, 1);
  EXPECT_EQ(outcome.compressed_iterations, kIterations - 2 - kDelay);
}

// The link changes at several times, in both directions.
TEST(CompressionChooserTest, FollowsALinkThatChanges) {
  const SimulatedJob slow = OneBucket(6, 1.3);
  SimulatedJob fast = slow;
  fast.bytes_per_second = 100 * slow.bytes_per_second;
  // Part of the time is work of the codec, so that dense pays on the fast link.
  const auto with_codec = [](SimulatedJob job) {
    job.compute -= 0.4;
    job.buckets[0].compressed_work += 0.4;
    job.noise = 0.2;
    return job;
  };
  for (const int at : {100, 700, 1000, 1500}) {
    for (const bool slow_first : {false, true}) {
      for (int seed = 0; seed < kSeeds; ++seed) {
        const SimulatedJob before = with_codec(slow_first ? slow : fast);
        const SimulatedJob after = with_codec(slow_first ? fast : slow);
        const Outcome outcome =
            Simulate(before, seed, [&](int iteration, SimulatedJob* job) {
              if (iteration == at) *job = after;
            });
        EXPECT_LT(outcome.Loss(), 0.05)
            << at << ", slow first " << slow_first << ", seed " << seed;
        EXPECT_EQ(outcome.last[0], !slow_first)
            << at << ", slow first " << slow_first << ", seed " << seed;
      }
    }
  }
}

// Measurements from before a change say nothing about the time after it.
TEST(CompressionChooserTest, ForgetsWhatWasBeforeAChange) {
  SimulatedLink link(OneBucket(1, 2), 0);
  CompressionChooser chooser(1, kDecideEvery);
  int dense = 0;
  for (int i = 0; i < 780; ++i) {
    if (i == 705) link.job() = OneBucket(3.2, 2);
    dense += i >= 705 && !chooser.compressed()[0];
    chooser.Observe(link.Iteration(chooser.compressed()));
  }
  EXPECT_TRUE(chooser.compressed()[0]);
  // Five iterations until 710, and two of the probe.
  EXPECT_LE(dense, 7);
}

// Compressed iterations are all work, and take as long as before; only the
// link's part of them shows that dense iterations would now be fast.
TEST(CompressionChooserTest, NoticesALinkThatMattersLittleToWhatItDoes) {
  SimulatedJob job;
  job.compute = 0.2;
  job.buckets = {{1000000, 50000, 0, 0.75}};
  job.bytes_per_second = 1e6;
  const Outcome outcome =
      Simulate(job, 0, [](int iteration, SimulatedJob* changed) {
        if (iteration == 450) changed->bytes_per_second = 1e8;
      });
  EXPECT_FALSE(outcome.last[0]);
  // The next scheduled probe was at 510, if the budget allowed for it.
  EXPECT_LT(outcome.compressed_iterations, 440);
}

TEST(CompressionChooserTest, TheFirstIterationAfterASwitchDoesNotCount) {
  SimulatedJob job = OneBucket(2, 1);
  job.switch_factor = 3;
  SimulatedLink link(job, 0);
  CompressionChooser chooser(1, kDecideEvery);
  int decisions = 0;
  for (int i = 0; i < kIterations; ++i) {
    const auto decision = chooser.Observe(link.Iteration(chooser.compressed()));
    if (!decision.has_value()) continue;
    ++decisions;
    EXPECT_NEAR(decision->dense_seconds, 2, 1e-6);
    EXPECT_NEAR(decision->compressed_seconds, 1, 1e-6);
  }
  EXPECT_GT(decisions, 0);
}

TEST(CompressionChooserTest, WhereBothAreCloseProbesStayFrequent) {
  // Probes at 3, 200, 400, 800, 1200 and 1600.
  EXPECT_EQ(Simulate(OneBucket(1.05, 1), 0).decisions, 6);
  // Probes at 3, 200, 400, 800 and 1600.
  EXPECT_EQ(Simulate(OneBucket(1.15, 1), 0).decisions, 5);
}

// Bucket 0 is all bytes; bucket 1 is little more than work for the codec.
SimulatedJob MixedJob() {
  SimulatedJob job;
  job.compute = 0.02;
  job.bytes_per_second = 1e8;
  job.buckets = {{10000000, 100000, 0.001, 0.01},
                 {500000, 5000, 0.001, 0.04},
                 {4000000, 40000, 0.001, 0.004}};
  return job;
}

TEST(CompressionChooserTest, BucketsDiffer) {
  SimulatedJob job = MixedJob();
  for (const double noise : {0.0, 0.2}) {
    job.noise = noise;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const Outcome outcome = Simulate(job, seed);
      EXPECT_EQ(outcome.last, (std::vector<bool>{true, false, true}));
      // Either choice alone would take a third more.
      EXPECT_LT(outcome.Loss(), -0.2);
    }
  }
}

// The model is wrong, since mixed iterations take long: measured times decide.
TEST(CompressionChooserTest, AMixMustShowWhatItPromises) {
  const SimulatedJob job = MixedJob();
  SimulatedLink link(job, 0);
  CompressionChooser chooser(3, kDecideEvery);
  const std::vector<bool> all(3, true);
  const std::vector<bool> none(3, false);
  int mixed = 0;
  for (int i = 0; i < kIterations; ++i) {
    ExchangeCosts costs = link.Iteration(chooser.compressed());
    if (chooser.compressed() != all && chooser.compressed() != none) {
      costs.seconds *= 4;
      ++mixed;
    }
    if (const auto decision = chooser.Observe(costs)) {
      EXPECT_EQ(decision->compressed, all);
    }
  }
  EXPECT_GT(mixed, 0);
  EXPECT_LT(mixed, 20);
}

// Two workers of a synchronous job: an iteration takes as long as that of the
// slower worker. Both measure nearly the same.
class TwoWorkers {
 public:
  TwoWorkers(const SimulatedJob& job, uint64_t seed)
      : links_{SimulatedLink(job, 2 * seed), SimulatedLink(job, 2 * seed + 1)},
        random_(seed) {}

  void Iteration() {
    ExchangeCosts costs[2];
    double seconds = 0;
    for (int w = 0; w < 2; ++w) {
      costs[w] = links_[w].Iteration(choosers_[w].compressed());
      seconds = std::max(seconds, costs[w].seconds);
    }
    std::uniform_real_distribution<double> error(0.99, 1.01);
    for (int w = 0; w < 2; ++w) {
      costs[w].seconds = seconds * error(random_);
      choosers_[w].Observe(costs[w]);
    }
    differing_ += choosers_[0].compressed() != choosers_[1].compressed();
  }

  CompressionChooser& chooser(int w) { return choosers_[w]; }
  int differing() const { return differing_; }

 private:
  SimulatedLink links_[2];
  CompressionChooser choosers_[2] = {{1, kDecideEvery}, {1, kDecideEvery}};
  std::mt19937_64 random_;
  int differing_ = 0;
};

TEST(CompressionChooserTest, WorkersThatMeasureNearlyTheSameChooseTheSame) {
  for (SimulatedJob job : {OneBucket(1.3, 1), OneBucket(1, 1.3)}) {
    job.noise = 0.2;
    for (int seed = 0; seed < kSeeds; ++seed) {
      TwoWorkers workers(job, seed);
      for (int i = 0; i < kIterations; ++i) workers.Iteration();
      EXPECT_EQ(workers.chooser(0).compressed(),
                workers.chooser(1).compressed())
          << seed;
      EXPECT_LT(workers.differing(), kIterations / 20) << seed;
    }
  }
}

// Worker 1 first measures the opposite. While the two differ, neither gains by
// changing alone; in scheduled probes they change together.
TEST(CompressionChooserTest, WorkersThatDifferMeetAgain) {
  for (const bool dense_wins : {false, true}) {
    const SimulatedJob job = dense_wins ? OneBucket(1, 1.4) : OneBucket(1.4, 1);
    const SimulatedJob contrary =
        dense_wins ? OneBucket(1.4, 1) : OneBucket(1, 1.4);
    SimulatedLink link(job, 0);
    SimulatedLink believed(contrary, 0);
    CompressionChooser one(1, kDecideEvery);
    CompressionChooser other(1, kDecideEvery);
    for (int i = 0; i < 150; ++i) {
      one.Observe(link.Iteration(one.compressed()));
      other.Observe(believed.Iteration(other.compressed()));
    }
    ASSERT_NE(one.compressed(), other.compressed());
    for (int i = 150; i < kIterations; ++i) {
      ExchangeCosts ones = link.Iteration(one.compressed());
      ExchangeCosts others = link.Iteration(other.compressed());
      ones.seconds = others.seconds = std::max(ones.seconds, others.seconds);
      one.Observe(ones);
      other.Observe(others);
      if (i == 700) {
        EXPECT_EQ(one.compressed()[0], !dense_wins);
        EXPECT_EQ(other.compressed()[0], !dense_wins);
      }
    }
  }
}

}  // namespace
}  // namespace ps
