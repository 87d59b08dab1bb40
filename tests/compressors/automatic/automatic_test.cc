// "auto" with choices that a test makes. With everything compressed it obeys
// the laws of every compressor (compressor_contract_test.cc).
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = 5000;

class AutomaticTest : public testing::Test {
 protected:
  HarnessOptions Options(absl::string_view more = "") {
    HarnessOptions options;
    options.config =
        CompressorConfigFrom(absl::StrCat("name: 'auto' ratio: 0.02 ", more));
    options.dense_size = kSize;
    options.part_ends = {kSize / 3, kSize / 3, kSize - 7, kSize};
    options.bucket = 1;
    options.compressed_buckets = &choice_;
    return options;
  }

  void Choose(bool compressed) { choice_[1] = compressed; }

  std::vector<bool> choice_ = {true, true, false};
};

std::vector<float> Gradient(int iteration) {
  return MakeVector("laplace", kSize, iteration);
}

bool IsCompressed(int iteration) { return iteration / 2 % 2 == 0; }

TEST_F(AutomaticTest, ObeysTheLawWhateverWasChosenBefore) {
  for (const char* code : {"fp32", "qsgdinf", "sign"}) {
    Harness harness(Options(absl::StrCat("value_code: '", code, "'")));
    for (int iteration = 0; iteration < 12; ++iteration) {
      Choose(IsCompressed(iteration));
      const std::vector<float> gradient = Gradient(iteration);
      const std::vector<float> before = harness.residual();
      const EncodedGradient encoded = harness.Compress(gradient);
      const std::vector<float> decoded = harness.Decode(encoded);
      const std::vector<float> after = harness.residual();
      for (int64_t i = 0; i < kSize; ++i) {
        const float u = before[i] + gradient[i];
        ASSERT_EQ(u - decoded[i], after[i]) << code << ", " << i;
        // bf16 has eight significant bits, so at most half a unit of the last
        // one is left.
        if (IsCompressed(iteration)) continue;
        ASSERT_LE(std::abs(after[i]), std::abs(u) / 256) << code << ", " << i;
      }
      EXPECT_EQ(encoded.stats.chosen_dense, !IsCompressed(iteration));
      if (IsCompressed(iteration)) {
        EXPECT_LT(encoded.stats.count, kSize / 10);
        EXPECT_EQ(encoded.stats.target_count, kSize / 50);
      } else {
        EXPECT_EQ(encoded.stats.count, kSize);
        EXPECT_EQ(encoded.stats.target_count, kSize);
      }
    }
  }
}

// Two bytes per element, and headers.
TEST_F(AutomaticTest, DenseIsInTwoBytes) {
  Harness harness(Options());
  Choose(false);
  const size_t bytes = Bytes(harness.Compress(Gradient(0))).size();
  EXPECT_GE(bytes, 2 * kSize);
  EXPECT_LT(bytes, 2 * kSize + 400);
}

TEST_F(AutomaticTest, WithoutAChoiceItCompresses) {
  HarnessOptions options = Options();
  Harness chosen(options);
  Choose(true);
  options.compressed_buckets = nullptr;
  Harness alone(options);
  options.config.set_name("sidco_e");
  Harness plain(options);
  for (int iteration = 0; iteration < 4; ++iteration) {
    const std::string bytes = Bytes(plain.Compress(Gradient(iteration)));
    EXPECT_EQ(Bytes(alone.Compress(Gradient(iteration))), bytes);
    EXPECT_EQ(Bytes(chosen.Compress(Gradient(iteration))), bytes);
  }
}

TEST_F(AutomaticTest, RestoredStateContinuesWhateverIsChosen) {
  const std::string more = "auto { compressor: 'dgc' } value_code: 'qsgdinf'";
  for (const int restored_at : {1, 3}) {
    Harness original(Options(more));
    for (int iteration = 0; iteration < restored_at; ++iteration) {
      Choose(IsCompressed(iteration));
      original.Compress(Gradient(iteration));
    }
    Harness restored(Options(more));
    restored.set_residual(original.residual());
    ASSERT_TRUE(restored.compressor()
                    .LoadState(original.compressor().SaveState())
                    .ok());
    for (int iteration = restored_at; iteration < 8; ++iteration) {
      Choose(IsCompressed(iteration));
      EXPECT_EQ(Bytes(original.Compress(Gradient(iteration))),
                Bytes(restored.Compress(Gradient(iteration))));
      EXPECT_EQ(Bits(original.residual()), Bits(restored.residual()));
    }
  }
}

// The checksums are right, but the second of the state's two parts is another
// compressor's: the first must not be loaded either.
TEST_F(AutomaticTest, StateOfAnotherCompressorIsRefusedAsAWhole) {
  Harness other(Options("auto { compressor: 'topk' } value_code: 'qsgdinf'"));
  Choose(true);
  other.Compress(Gradient(0));
  Harness harness(Options("value_code: 'qsgdinf'"));
  harness.Compress(Gradient(0));
  const std::string before = harness.compressor().SaveState();
  EXPECT_EQ(
      harness.compressor().LoadState(other.compressor().SaveState()).code(),
      absl::StatusCode::kDataLoss);
  EXPECT_EQ(harness.compressor().SaveState(), before);
}

// The momentum survives iterations that send everything. With masking it would
// be 0 after each of them, and a gradient of zeros would send nothing.
TEST_F(AutomaticTest, DenseIterationsKeepTheMomentum) {
  Harness harness(Options("momentum_correction { momentum: 0.5 }"));
  Choose(false);
  std::vector<float> ones(kSize, 1.0f);
  const std::vector<float> zeros(kSize, 0.0f);
  EXPECT_EQ(harness.Decode(harness.Compress(ones)), ones);
  EXPECT_EQ(harness.Decode(harness.Compress(zeros)),
            std::vector<float>(kSize, 0.5f));
  Choose(true);
  const EncodedGradient encoded = harness.Compress(Gradient(0));
  const std::vector<int64_t> sent = harness.Positions(encoded);
  ASSERT_FALSE(sent.empty());
  Choose(false);
  harness.set_residual(zeros);
  // Elements sent by compressed iterations are masked as usual.
  EXPECT_EQ(harness.Decode(harness.Compress(zeros))[sent[0]], 0);
}

TEST_F(AutomaticTest, WarmupHasRatiosForWhatIsCompressed) {
  Harness harness(
      Options("warmup { stages: 1 iterations_per_stage: 4 } "
              "auto { compressor: 'topk' }"));
  for (int iteration = 0; iteration < 8; ++iteration) {
    Choose(iteration % 2 == 0);
    const int64_t count = harness.Compress(Gradient(iteration)).stats.count;
    if (iteration % 2 == 1) {
      EXPECT_EQ(count, kSize);
    } else if (iteration < 4) {
      EXPECT_GT(count, kSize / 50);
      EXPECT_LT(count, kSize);
    } else {
      EXPECT_EQ(count, kSize / 50);
    }
  }
}

}  // namespace
}  // namespace ps
