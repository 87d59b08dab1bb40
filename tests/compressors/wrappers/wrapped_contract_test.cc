// The laws of every registered compressor inside the wrappers that a config may
// put around it: clipping, momentum correction, a share of the residual,
// warm-up.
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

class WrappedContractTest : public testing::TestWithParam<std::string> {
 protected:
  // Stages of three iterations.
  HarnessOptions Options(int64_t n) const {
    HarnessOptions options;
    options.config = CompressorConfigFrom(
        "ratio: 0.02 clip_norm: 50 feedback_share: 0.5 feedback_decay: 0.9 "
        "momentum_correction { momentum: 0.9 nesterov: true } "
        "warmup { stages: 4 iterations_per_stage: 3 }");
    options.config.set_name(GetParam());
    options.dense_size = n;
    options.part_ends = {n / 3, n / 3, n - n / 5, n};
    options.tensors = SomeTensors(n);
    options.num_workers = 2;
    return options;
  }
};

// Sent plus kept equals the residual plus what momentum makes of the gradient.
TEST_P(WrappedContractTest, ObeysTheLawForTheStepOfMomentum) {
  for (const int64_t n : {0, 1, 33, 1025, 5000}) {
    for (const bool nesterov : {false, true}) {
      HarnessOptions options = Options(n);
      options.config.clear_clip_norm();
      options.config.clear_feedback_share();
      options.config.clear_feedback_decay();
      options.config.mutable_momentum_correction()->set_nesterov(nesterov);
      constexpr float kMomentum = 0.9f;
      Harness harness(options);
      std::vector<float> velocity(n, 0.0f);
      for (int iteration = 0; iteration < 8; ++iteration) {
        const std::vector<float> gradient =
            MakeVector("gaussian", n, iteration);
        const std::vector<float> before = harness.residual();
        const EncodedGradient encoded = harness.Compress(gradient);
        const std::vector<float> decoded = harness.Decode(encoded);
        const std::vector<float> after = harness.residual();
        for (int64_t i = 0; i < n; ++i) {
          float step;
          if (nesterov) {
            velocity[i] = kMomentum * velocity[i] + kMomentum * gradient[i];
            step = velocity[i] + gradient[i];
          } else {
            step = velocity[i] = kMomentum * velocity[i] + gradient[i];
          }
          const float u = before[i] + step;
          // A compressor with its own code rounds what it sends.
          ASSERT_TRUE(FindCompressor(GetParam()).writes_own_code
                          ? u - decoded[i] == after[i]
                          : u == decoded[i] + after[i])
              << u << " became " << decoded[i] << " + " << after[i] << " at "
              << i << " of " << n << ", iteration " << iteration;
        }
        for (const int64_t i : harness.Positions(encoded)) velocity[i] = 0;
      }
    }
  }
}

TEST_P(WrappedContractTest, ThreadsDoNotShow) {
  constexpr int64_t kLarge = 140003;
  HarnessOptions options = Options(kLarge);
  Harness one(options);
  options.num_threads = 3;
  Harness three(options);
  for (int iteration = 0; iteration < 5; ++iteration) {
    const std::vector<float> gradient =
        MakeVector("laplace", kLarge, iteration);
    EXPECT_EQ(Bytes(one.Compress(gradient)), Bytes(three.Compress(gradient)));
    EXPECT_EQ(Bits(one.residual()), Bits(three.residual()));
    EXPECT_EQ(one.compressor().SaveState(), three.compressor().SaveState());
  }
}

// This includes the case that the next iteration is the first of a stage.
TEST_P(WrappedContractTest, NonFiniteGradientChangesNothing) {
  constexpr int64_t kSize = 1500;
  const float kBad[] = {std::numeric_limits<float>::quiet_NaN(),
                        -std::numeric_limits<float>::infinity()};
  Harness harness(Options(kSize));
  Harness undisturbed(Options(kSize));
  for (int iteration = 0; iteration < 8; ++iteration) {
    std::vector<float> gradient = MakeVector("gaussian", kSize, iteration);
    for (const float bad : kBad) {
      const std::vector<float> before = harness.residual();
      const std::string state = harness.compressor().SaveState();
      std::vector<float> spoilt = gradient;
      spoilt[kSize / 2] = bad;
      const EncodedGradient encoded = harness.Compress(spoilt);
      EXPECT_TRUE(encoded.stats.non_finite);
      EXPECT_EQ(encoded.stats.count, 0);
      EXPECT_EQ(Bits(harness.residual()), Bits(before));
      EXPECT_EQ(harness.compressor().SaveState(), state);
    }
    EXPECT_EQ(Bytes(harness.Compress(gradient)),
              Bytes(undisturbed.Compress(gradient)));
  }
}

TEST_P(WrappedContractTest, RestoredStateContinuesInTheSameBits) {
  constexpr int64_t kSize = 5000;
  // Within a stage, and at the ends of two stages: the restored compressor then
  // begins the next one.
  for (const int restored_at : {0, 2, 3, 6, 20}) {
    Harness original(Options(kSize));
    for (int iteration = 0; iteration < restored_at; ++iteration) {
      original.Compress(MakeVector("gaussian", kSize, iteration));
    }
    Harness restored(Options(kSize));
    restored.set_residual(original.residual());
    ASSERT_TRUE(restored.compressor()
                    .LoadState(original.compressor().SaveState())
                    .ok());
    for (int i = restored_at; i < restored_at + 8; ++i) {
      const std::vector<float> gradient = MakeVector("gaussian", kSize, i);
      ASSERT_EQ(Bytes(original.Compress(gradient)),
                Bytes(restored.Compress(gradient)))
          << "restored at " << restored_at << ", iteration " << i;
      ASSERT_EQ(Bits(original.residual()), Bits(restored.residual()));
    }
    EXPECT_EQ(original.compressor().SaveState(),
              restored.compressor().SaveState());
  }
}

TEST_P(WrappedContractTest, DamagedStateIsRefusedAndChangesNothing) {
  Harness harness(Options(60));
  for (int iteration = 0; iteration < 7; ++iteration) {
    harness.Compress(MakeVector("laplace", 60, iteration));
  }
  Compressor& compressor = harness.compressor();
  const std::string good = compressor.SaveState();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(compressor.LoadState(good.substr(0, size)).code(),
              absl::StatusCode::kDataLoss);
  }
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(compressor.LoadState(bad).code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(compressor.LoadState(good + '\0').code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(compressor.SaveState(), good);
  EXPECT_TRUE(compressor.LoadState(good).ok());
}

TEST_P(WrappedContractTest, WrongSizesAreRefused) {
  Harness harness(Options(100));
  const auto backend = NewCpuBackend(CpuBackendOptions());
  ASSERT_TRUE(backend.ok());
  Tensor right = *(*backend)->Allocate({100});
  Tensor wrong = *(*backend)->Allocate({99});
  EXPECT_EQ(harness.compressor().Compress(wrong, &right).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(harness.compressor().Compress(right, &wrong).status().code(),
            absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(AllCompressors, WrappedContractTest,
                         testing::ValuesIn(CompressorRegistry().Names()));

}  // namespace
}  // namespace ps
