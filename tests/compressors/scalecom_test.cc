// ScaleCom against a plain computation of its formulas, with several workers.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/compressor.h"
#include "compressors/scalecom/tensor_rates.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Workers that follow each other's positions.
class Workers {
 public:
  Workers(const HarnessOptions& options, int num_workers)
      : positions_(num_workers) {
    for (int rank = 0; rank < num_workers; ++rank) {
      HarnessOptions mine = options;
      mine.worker_rank = rank;
      mine.num_workers = num_workers;
      mine.shared_positions = &positions_[rank];
      workers_.push_back(std::make_unique<Harness>(mine));
    }
  }

  // What each worker sends of its gradient.
  std::vector<EncodedGradient> Step(
      int64_t iteration, const std::vector<std::vector<float>>& gradients) {
    const int leader = LeaderOf(iteration, size());
    std::vector<EncodedGradient> sent(size());
    positions_[leader].given = false;
    sent[leader] = workers_[leader]->Compress(gradients[leader]);
    const auto chosen = workers_[leader]->Positions(sent[leader]);
    for (int rank = 0; rank < size(); ++rank) {
      if (rank == leader) continue;
      positions_[rank].given = true;
      positions_[rank].indices.assign(chosen.begin(), chosen.end());
      sent[rank] = workers_[rank]->Compress(gradients[rank]);
    }
    return sent;
  }

  int size() const { return static_cast<int>(positions_.size()); }
  Harness& operator[](int rank) { return *workers_[rank]; }

 private:
  std::vector<SharedPositions> positions_;
  std::vector<std::unique_ptr<Harness>> workers_;
};

std::vector<int64_t> LargestOfChunks(const std::vector<double>& p,
                                     int64_t chunk) {
  std::vector<int64_t> chosen;
  const auto n = static_cast<int64_t>(p.size());
  for (int64_t begin = 0; begin < n; begin += chunk) {
    int64_t best = begin;
    for (int64_t i = begin; i < std::min(n, begin + chunk); ++i) {
      if (std::fabs(p[i]) > std::fabs(p[best])) best = i;
    }
    chosen.push_back(best);
  }
  return chosen;
}

std::vector<int64_t> Largest(const std::vector<double>& p, int64_t k) {
  std::vector<int64_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&p](int64_t a, int64_t b) {
    return std::fabs(p[a]) > std::fabs(p[b]);
  });
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

// p = m + g; the leader selects from its p, and all send theirs there; then m
// <- (1 - beta) m + beta (p - sent). Our residual is m / beta.
TEST(ScaleComTest, StepsAreThoseOfThePaper) {
  constexpr int64_t kSize = 107;  // Not a multiple of the chunks.
  constexpr int64_t kChunk = 8;
  for (const char* const selection : {"CHUNKS", "EXACT"}) {
    for (const double beta : {1.0, 0.5, 0.25}) {
      for (const int num_workers : {1, 2, 4}) {
        HarnessOptions options;
        options.config = CompressorConfigFrom(
            absl::StrCat("name: 'scalecom' ratio: 0.125 feedback_share: ", beta,
                         " scalecom { selection: ", selection, " }"));
        options.dense_size = kSize;
        Workers workers(options, num_workers);
        std::vector<std::vector<double>> m(num_workers,
                                           std::vector<double>(kSize, 0));
        // After more steps, sums would no longer be exact.
        for (int64_t step = 0; step < 8; ++step) {
          std::vector<std::vector<float>> g;
          for (int rank = 0; rank < num_workers; ++rank) {
            g.push_back(MakeVector("gaussian", kSize, 10 * step + rank));
            // In eighths, sums are exact, and there are many equal magnitudes.
            for (float& x : g.back()) x = std::round(x * 8) / 8;
          }
          const auto sent = workers.Step(step, g);
          const auto p = [&](int rank) {
            std::vector<double> sum(kSize);
            for (int64_t i = 0; i < kSize; ++i)
              sum[i] = m[rank][i] + g[rank][i];
            return sum;
          };
          const std::vector<double> leaders = p(step % num_workers);
          const auto chosen =
              selection == std::string("CHUNKS")
                  ? LargestOfChunks(leaders, kChunk)
                  : Largest(leaders, (kSize + kChunk - 1) / kChunk);
          for (int rank = 0; rank < num_workers; ++rank) {
            SCOPED_TRACE(absl::StrCat(selection, ", beta ", beta, ", worker ",
                                      rank, " of ", num_workers, ", step ",
                                      step));
            ASSERT_EQ(workers[rank].Positions(sent[rank]), chosen);
            const std::vector<float> values = workers[rank].Decode(sent[rank]);
            const std::vector<float> after = workers[rank].residual();
            std::vector<double> left = p(rank);
            for (const int64_t i : chosen) {
              ASSERT_EQ(values[i], static_cast<float>(left[i]));
              left[i] = 0;
            }
            for (int64_t i = 0; i < kSize; ++i) {
              m[rank][i] = (1 - beta) * m[rank][i] + beta * left[i];
              ASSERT_EQ(static_cast<float>(beta * after[i]),
                        static_cast<float>(m[rank][i]))
                  << "at " << i;
            }
          }
        }
      }
    }
  }
}

// So that no server needs to know what another one has.
TEST(ScaleComTest, ChunksBeginAnewInEachSlice) {
  constexpr int64_t kBorder = 43;  // Within a chunk of the whole vector.
  HarnessOptions options;
  options.config = CompressorConfigFrom("name: 'scalecom' ratio: 0.125");
  options.dense_size = 107;
  options.part_ends = {kBorder, options.dense_size};
  Harness harness(options);
  const std::vector<float> g = MakeVector("gaussian", options.dense_size, 1);
  std::vector<int64_t> chosen =
      LargestOfChunks({g.begin(), g.begin() + kBorder}, 8);
  for (const int64_t i : LargestOfChunks({g.begin() + kBorder, g.end()}, 8)) {
    chosen.push_back(kBorder + i);
  }
  EXPECT_EQ(harness.Positions(harness.Compress(g)), chosen);
}

// A worker takes the place of a leader in some slices, and follows in others.
TEST(ScaleComTest, EachSliceMayHaveAnotherLeader) {
  constexpr int64_t kSize = 107;
  const std::vector<int64_t> ends = {43, 43, 80, kSize};
  for (const char* const selection : {"CHUNKS", "EXACT"}) {
    HarnessOptions options;
    options.config = CompressorConfigFrom(absl::StrCat(
        "name: 'scalecom' ratio: 0.125 scalecom { selection: ", selection,
        " }"));
    options.dense_size = kSize;
    options.part_ends = ends;
    const std::vector<float> g = MakeVector("gaussian", kSize, 1);
    const std::vector<float> others = MakeVector("gaussian", kSize, 2);
    const auto own = Harness(options).Positions(Harness(options).Compress(g));
    const auto given =
        Harness(options).Positions(Harness(options).Compress(others));
    for (int led = 0; led < 16; ++led) {
      SharedPositions positions;
      positions.given = true;
      std::vector<int64_t> expected;
      int64_t begin = 0;
      for (size_t part = 0; part < ends.size(); ++part) {
        positions.led.push_back((led >> part & 1) != 0);
        for (const int64_t i : positions.led[part] ? own : given) {
          if (i < begin || i >= ends[part]) continue;
          expected.push_back(i);
          if (!positions.led[part]) {
            positions.indices.push_back(static_cast<uint32_t>(i));
          }
        }
        begin = ends[part];
      }
      options.shared_positions = &positions;
      options.num_workers = 2;
      Harness harness(options);
      const EncodedGradient sent = harness.Compress(g);
      ASSERT_EQ(harness.Positions(sent), expected) << selection << ", " << led;
      const std::vector<float> values = harness.Decode(sent);
      const std::vector<float> left = harness.residual();
      for (int64_t i = 0; i < kSize; ++i) ASSERT_EQ(values[i] + left[i], g[i]);
    }
  }
}

// Where everything is sent, wherever the positions are from.
TEST(ScaleComTest, EachSliceMayHaveAnotherLeaderThatSendsEverything) {
  HarnessOptions options;
  options.config = CompressorConfigFrom("name: 'scalecom' ratio: 1");
  options.dense_size = 9;
  options.part_ends = {4, 9};
  SharedPositions positions;
  positions.given = true;
  positions.led = {true, false};
  positions.indices = {4, 5, 6, 7, 8};
  options.shared_positions = &positions;
  options.num_workers = 2;
  Harness harness(options);
  const std::vector<float> g = MakeVector("gaussian", 9, 1);
  EXPECT_EQ(harness.Decode(harness.Compress(g)), g);
  // Others had nothing to send there.
  positions.indices.clear();
  harness.set_residual(std::vector<float>(9));
  EXPECT_THAT(harness.Positions(harness.Compress(g)), ElementsAre(0, 1, 2, 3));
}

// The sum of all pushes has as many elements as one of them, where the union of
// each worker's own selection grows with the number of workers.
TEST(ScaleComTest, NothingBuildsUp) {
  constexpr int64_t kSize = 20000;
  const auto touched = [](const std::string& name, int num_workers) {
    HarnessOptions options;
    options.config = CompressorConfigFrom("ratio: 0.01");
    options.config.set_name(name);
    options.dense_size = kSize;
    Workers workers(options, num_workers);
    std::set<int64_t> all;
    for (int64_t step = 0; step < 3; ++step) {
      std::vector<std::vector<float>> gradients;
      for (int rank = 0; rank < num_workers; ++rank) {
        gradients.push_back(MakeVector("laplace", kSize, 50 * step + rank));
      }
      all.clear();
      const auto sent = workers.Step(step, gradients);
      for (int rank = 0; rank < num_workers; ++rank) {
        const auto positions = workers[rank].Positions(sent[rank]);
        all.insert(positions.begin(), positions.end());
      }
    }
    return all.size();
  };
  for (const int num_workers : {2, 4, 8, 16}) {
    EXPECT_EQ(touched("scalecom", num_workers), 200u);
    EXPECT_GT(touched("topk", num_workers), 180u * num_workers);
  }
}

// If the leader's k positions hold k - d of the largest of the mean, the error
// is at most that of top-k, blown up by gamma = d / k + (1 - d / k) gamma0.
TEST(ScaleComTest, OneLeaderIsEnoughWhereWorkersAreSimilar) {
  constexpr int64_t kSize = 4000;
  constexpr int64_t kSelected = 40;
  for (const float noise : {0.0f, 0.2f, 1.0f, 3.0f, 10.0f}) {
    std::vector<double> leader(kSize);
    std::vector<double> mean(kSize);
    const std::vector<float> common = MakeVector("heavy", kSize, 1);
    const std::vector<float> own = MakeVector("gaussian", kSize, 2);
    for (int64_t i = 0; i < kSize; ++i) {
      mean[i] = common[i];
      leader[i] = common[i] + noise * own[i];
    }
    const auto best = Largest(mean, kSelected);
    const auto chosen = Largest(leader, kSelected);
    std::vector<int64_t> both;
    std::set_intersection(best.begin(), best.end(), chosen.begin(),
                          chosen.end(), std::back_inserter(both));
    const auto left = [&mean](const std::vector<int64_t>& sent) {
      double all = 0;
      for (const double x : mean) all += x * x;
      double rest = all;
      for (const int64_t i : sent) rest -= mean[i] * mean[i];
      return rest / all;
    };
    const double d = static_cast<double>(kSelected - both.size()) / kSelected;
    EXPECT_LE(left(chosen), d + (1 - d) * left(best) + 1e-12) << noise;
  }
}

TEST(ScaleComTest, RatesFollowHowOftenAWeightIsUsed) {
  EXPECT_EQ(RateForUses(112 * 112), 25);
  EXPECT_EQ(RateForUses(197), 25);
  EXPECT_EQ(RateForUses(196), 50);
  EXPECT_EQ(RateForUses(129), 50);
  EXPECT_EQ(RateForUses(128), 400);
  EXPECT_EQ(RateForUses(1), 400);
}

TEST(ScaleComTest, SmallTensorsVectorsAndTheFirstTensorAreSentWhole) {
  CompressorOptions options;
  options.config = CompressorConfigFrom(
      "name: 'scalecom' ratio: 0.005 scalecom { rates: BY_USES }");
  options.tensors = {{0, {64, 100}, 400, true}, {6400, {9000}},
                     {15400, {10, 100}},        {16400, {20, 100}, 400},
                     {18400, {20, 100}, 150},   {20400, {20, 100}}};
  options.dense_size = 22400;
  const auto sizes = [&options] {
    std::vector<int64_t> sizes;
    for (const ChunkRun& run : TensorRates(options)) {
      sizes.push_back(run.chunk_size);
    }
    return sizes;
  };
  // No tensor is sent less than `ratio` says.
  EXPECT_THAT(sizes(), testing::ElementsAre(1, 1, 1, 25, 50, 200));
  options.config.mutable_scalecom()->set_rates(ScaleComConfig::RATIO);
  EXPECT_THAT(sizes(), testing::ElementsAre(1, 1, 1, 200, 200, 200));
  options.config.mutable_scalecom()->set_dense_first(false);
  options.config.mutable_scalecom()->set_dense_below(0);
  EXPECT_THAT(sizes(), testing::ElementsAre(200, 1, 200, 200, 200, 200));
}

TEST(ScaleComTest, WhatIsNoSizeIsRefused) {
  EXPECT_THAT(
      std::string(
          Acceptance(CompressorConfigFrom(
                         "name: 'scalecom' scalecom { dense_below: -1 }"))
              .message()),
      HasSubstr("scalecom.dense_below is -1; must be at least 0"));
}

}  // namespace
}  // namespace ps
