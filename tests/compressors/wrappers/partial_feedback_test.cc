// A share of the residual is added to each gradient, as ScaleCom's low-pass
// filter does.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

HarnessOptions OptionsOf(const std::string& config, int64_t n) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.dense_size = n;
  return options;
}

double RootMeanSquare(const std::vector<float>& values) {
  double sum = 0;
  for (const float x : values) sum += double{x} * x;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// The paper's memory m, computed as its formula says: m is beta times our
// residual, and m <- (1 - beta) m + beta (m + g - sent).
TEST(PartialFeedbackTest, IsTheLowPassFilterOfThePaper) {
  constexpr int64_t kSize = 501;
  for (const char* const name : {"topk", "chunk_topk"}) {
    for (const double beta : {1.0, 0.3, 0.1}) {
      Harness harness(OptionsOf(
          absl::StrCat("name: '", name, "' ratio: 0.1 feedback_share: ", beta),
          kSize));
      std::vector<double> m(kSize, 0);
      for (int step = 0; step < 20; ++step) {
        const std::vector<float> g = MakeVector("gaussian", kSize, step);
        const EncodedGradient encoded = harness.Compress(g);
        std::vector<bool> sent(kSize, false);
        for (const int64_t i : harness.Positions(encoded)) sent[i] = true;
        const std::vector<float> values = harness.Decode(encoded);
        const std::vector<float> residual = harness.residual();
        for (int64_t i = 0; i < kSize; ++i) {
          const double p = m[i] + g[i];
          ASSERT_NEAR(values[i], sent[i] ? p : 0, 1e-4) << "at " << i;
          m[i] = (1 - beta) * m[i] + beta * (sent[i] ? 0 : p);
          ASSERT_NEAR(beta * residual[i], m[i], 1e-4)
              << name << ", beta " << beta << ", step " << step << ", at " << i;
        }
      }
    }
  }
}

// With a power of two nothing is rounded but u itself: what was sent leaves
// exactly the share that was not fed back.
TEST(PartialFeedbackTest, WhereValuesWereSentTheRestIsKeptExactly) {
  constexpr int64_t kSize = 300;
  Harness harness(
      OptionsOf("name: 'topk' ratio: 0.1 feedback_share: 0.25", kSize));
  for (int step = 0; step < 10; ++step) {
    const std::vector<float> before = harness.residual();
    const auto positions =
        harness.Positions(harness.Compress(MakeVector("laplace", kSize, step)));
    for (const int64_t i : positions) {
      EXPECT_EQ(harness.residual()[i], 0.75f * before[i]);
    }
  }
}

TEST(PartialFeedbackTest, AllOfItIsTheOrdinaryResidualBitForBit) {
  constexpr int64_t kSize = 1000;
  Harness ordinary(OptionsOf("name: 'topk' ratio: 0.02", kSize));
  Harness whole(OptionsOf("name: 'topk' ratio: 0.02 feedback_share: 1", kSize));
  for (int step = 0; step < 10; ++step) {
    const std::vector<float> g = MakeVector("heavy", kSize, step);
    EXPECT_EQ(Bytes(ordinary.Compress(g)), Bytes(whole.Compress(g)));
    EXPECT_EQ(Bits(ordinary.residual()), Bits(whole.residual()));
  }
}

// sum of sent + residual = sum of gradients: no filter loses anything.
TEST(PartialFeedbackTest, NothingIsLost) {
  constexpr int64_t kSize = 400;
  for (const double beta : {1.0, 0.3, 0.1}) {
    Harness harness(OptionsOf(
        absl::StrCat("name: 'chunk_topk' ratio: 0.05 feedback_share: ", beta),
        kSize));
    std::vector<double> difference(kSize, 0);
    for (int step = 0; step < 60; ++step) {
      const std::vector<float> g = MakeVector("gaussian", kSize, step);
      const std::vector<float> sent = harness.Decode(harness.Compress(g));
      for (int64_t i = 0; i < kSize; ++i) difference[i] += g[i] - sent[i];
    }
    for (int64_t i = 0; i < kSize; ++i) {
      EXPECT_NEAR(difference[i], harness.residual()[i], 1e-3);
    }
  }
}

// In white noise at 1 in 100 the memory (beta times the residual) settles at
// these multiples of the gradient, as found with an independent implementation
// (numpy). A filter that forgot, or that fed all of it back, would not.
TEST(PartialFeedbackTest, FiltersNoise) {
  constexpr int64_t kSize = 2000;
  const std::pair<double, double> kExpected[] = {
      {1.0, 4.1}, {0.3, 1.85}, {0.1, 0.93}};
  for (const auto& [beta, expected] : kExpected) {
    Harness harness(OptionsOf(
        absl::StrCat("name: 'topk' ratio: 0.01 feedback_share: ", beta),
        kSize));
    double unit = 0;
    for (int step = 0; step < 1500; ++step) {
      const std::vector<float> noise = MakeVector("gaussian", kSize, step);
      if (step == 0) unit = RootMeanSquare(noise);
      harness.Compress(noise);
    }
    EXPECT_NEAR(beta * RootMeanSquare(harness.residual()) / unit, expected,
                0.1 * expected)
        << beta;
  }
}

// What waits is multiplied by the decay before each gradient is added, and then
// the ordinary law holds.
TEST(PartialFeedbackTest, ADecayForgetsOldSteps) {
  constexpr int64_t kSize = 400;
  for (const char* const share : {"", " feedback_share: 0.5"}) {
    Harness harness(OptionsOf(
        absl::StrCat("name: 'topk' ratio: 0.05 feedback_decay: 0.75", share),
        kSize));
    for (int step = 0; step < 20; ++step) {
      const std::vector<float> before = harness.residual();
      const std::vector<float> g = MakeVector("gaussian", kSize, step);
      const std::vector<float> sent = harness.Decode(harness.Compress(g));
      for (int64_t i = 0; i < kSize; ++i) {
        ASSERT_NEAR(sent[i] + harness.residual()[i], 0.75f * before[i] + g[i],
                    1e-5);
        if (*share == '\0' && sent[i] != 0) {
          ASSERT_EQ(harness.residual()[i], 0);
        }
      }
    }
  }
}

TEST(PartialFeedbackTest, SharesThatAreNoneAreRefused) {
  for (const char* const bad : {"0", "-0.1", "1.5", "nan"}) {
    for (const char* const field : {"feedback_share", "feedback_decay"}) {
      EXPECT_THAT(
          std::string(Acceptance(CompressorConfigFrom(absl::StrCat(
                                     "name: 'topk' ", field, ": ", bad)))
                          .message()),
          testing::HasSubstr(absl::StrCat(field, " is")));
    }
  }
  EXPECT_THAT(std::string(Acceptance(CompressorConfigFrom(
                                         "name: 'topk' feedback_share: 0.5 "
                                         "error_feedback: false"))
                              .message()),
              testing::HasSubstr("error_feedback is false; must be true with "
                                 "feedback_share below 1"));
}

}  // namespace
}  // namespace ps
