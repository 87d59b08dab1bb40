// Checks AdaComp's selection, scale, residual and code words against a plain
// reference in this file, and the code words that a reader rejects.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

using testing::HasSubstr;

// A tensor of unknown shape, all of it in bins.
HarnessOptions Options(int64_t n, int bin_size, float scale_factor = 2) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(absl::StrCat(
      "name: 'adacomp' adacomp { dense_below: 0 bin_size: ", bin_size,
      " scale_factor: ", scale_factor, " }"));
  options.dense_size = n;
  return options;
}

std::string PartBytes(const PayloadBuffer& part) {
  return std::string(part.data(), part.data() + part.size_bytes());
}

// Errors that an implementation might contain.
enum class Mistake { kNone, kSignOfH, kNoZeroGuard, kMeanOfBinsThatSend };

struct Reference {
  float scale = 0;
  std::vector<float> residual;
  std::string words;
};

class WordsReference {
 public:
  explicit WordsReference(int bin_size) : bits_(bin_size <= 63 ? 6 : 14) {}

  void AddBin(const std::vector<std::pair<int, bool>>& elements) {
    if (elements.empty()) {
      ++empty_;
      return;
    }
    Flush();
    for (size_t i = 0; i < elements.size(); ++i) {
      const bool last = i + 1 == elements.size();
      Put(elements[i].first, elements[i].second, last);
    }
  }

  std::string Finish() {
    Flush();
    return words_;
  }

 private:
  void Flush() {
    const int64_t longest = int64_t{1} << (bits_ + 2);
    while (empty_ >= longest) Run(longest);
    if (empty_ > 1) Run(empty_);
    if (empty_ == 1) Put((1 << bits_) - 1, false, true);
    empty_ = 0;
  }
  void Run(int64_t bins) {
    Put((1 << bits_) - 1, true, true);
    PutWord(static_cast<uint32_t>(bins - 1));
    empty_ -= bins;
  }
  void Put(int place, bool negative, bool last) {
    PutWord(place + (negative ? 1 << bits_ : 0) + (last ? 2 << bits_ : 0));
  }
  void PutWord(uint32_t word) {
    words_ += static_cast<char>(word & 0xff);
    if (bits_ > 6) words_ += static_cast<char>(word >> 8);
  }

  const int bits_;
  int64_t empty_ = 0;
  std::string words_;
};

Reference StepOf(const std::vector<float>& residual,
                 const std::vector<float>& gradient, int bin_size, float factor,
                 Mistake mistake = Mistake::kNone) {
  const int64_t n = static_cast<int64_t>(gradient.size());
  Reference result;
  std::vector<float> h(n);
  for (int64_t i = 0; i < n; ++i) {
    const float g = residual[i] + gradient[i];
    const volatile float product = factor * gradient[i];
    h[i] = factor == 2 ? g + gradient[i] : residual[i] + product;
    result.residual.push_back(g);
  }
  std::vector<std::vector<int64_t>> bins;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t begin = 0; begin < n; begin += bin_size) {
    const int64_t end = std::min(n, begin + bin_size);
    float largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      largest = std::max(largest, std::fabs(result.residual[i]));
    }
    bins.emplace_back();
    for (int64_t i = begin; i < end; ++i) {
      const bool zero = result.residual[i] == 0 || largest == 0;
      if (zero && mistake != Mistake::kNoZeroGuard) continue;
      if (std::fabs(h[i]) >= largest) bins.back().push_back(i);
    }
    sum += largest;
    if (mistake != Mistake::kMeanOfBinsThatSend || !bins.back().empty()) {
      ++counted;
    }
  }
  if (counted > 0) result.scale = static_cast<float>(sum / counted);
  WordsReference words(bin_size);
  for (size_t b = 0; b < bins.size(); ++b) {
    std::vector<std::pair<int, bool>> elements;
    for (const int64_t i : bins[b]) {
      float& kept = result.residual[i];
      const bool negative = mistake == Mistake::kSignOfH ? h[i] < 0 : kept < 0;
      elements.emplace_back(static_cast<int>(i % bin_size), negative);
      kept -= negative ? -result.scale : result.scale;
    }
    words.AddBin(elements);
  }
  result.words = words.Finish();
  return result;
}

struct Input {
  std::string name;
  std::vector<float> residual;
  std::vector<float> gradient;
};

std::vector<Input> Inputs(int64_t n) {
  const auto make = [n](const char* name, uint64_t seed) {
    return MakeVector(name, n, seed);
  };
  const std::vector<float> zero(n, 0.0f);
  std::vector<Input> inputs = {
      {"first step", zero, make("gaussian", 1)},
      {"later step", make("laplace", 2), make("gaussian", 3)},
      {"zero", zero, zero},
      {"negative zero", zero, std::vector<float>(n, -0.0f)},
      {"sparse", zero, zero},
      {"cancelled", make("gaussian", 4), make("gaussian", 4)},
      {"overturned", make("heavy", 5), make("heavy", 5)},
  };
  for (int64_t i = n / 3; i < n; i += 1 + n / 4) inputs[4].gradient[i] = 1.5f;
  for (float& r : inputs[5].residual) r = -r;
  // Every seventh sum is not cancelled; otherwise nothing would be sent.
  for (int64_t i = 0; i < n; i += 7) inputs[5].residual[i] *= 0.5f;
  for (float& r : inputs[6].residual) r *= -1.3f;
  return inputs;
}

// Whether one step is bitwise equal to the reference, which may contain a
// mistake.
bool Agrees(const Input& input, int bin_size, float factor,
            Mistake mistake = Mistake::kNone) {
  const int64_t n = static_cast<int64_t>(input.gradient.size());
  Harness harness(Options(n, bin_size, factor));
  harness.set_residual(input.residual);
  const std::string bytes =
      PartBytes(harness.Compress(input.gradient).parts[0]);
  const Reference expected =
      StepOf(input.residual, input.gradient, bin_size, factor, mistake);
  float scale = 0;
  std::memcpy(&scale, &bytes[32 + 12], sizeof(scale));
  return scale == expected.scale && bytes.substr(32 + 16) == expected.words &&
         Bits(harness.residual()) == Bits(expected.residual);
}

class AdaCompReferenceTest : public testing::TestWithParam<int> {};

TEST_P(AdaCompReferenceTest, StepHasTheBitsOfTheReference) {
  for (const int64_t n : {1, 7, 630, 640, 1237, 5011, 40000, 64000}) {
    const std::vector<Input> inputs = Inputs(n);
    for (const float factor : {1.5f, 2.0f, 3.0f}) {
      for (const Input& input : inputs) {
        EXPECT_TRUE(Agrees(input, GetParam(), factor))
            << input.name << " of " << n << ", factor " << factor;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BinSizes, AdaCompReferenceTest,
                         testing::Values(1, 50, 63, 64, 500, 16383),
                         testing::PrintToStringParamName());

TEST(AdaCompTest, ReferenceWithAMistakeDisagrees) {
  for (const Mistake mistake : {Mistake::kSignOfH, Mistake::kNoZeroGuard,
                                Mistake::kMeanOfBinsThatSend}) {
    int disagreements = 0;
    for (const Input& input : Inputs(5011)) {
      if (!Agrees(input, 50, 2, mistake)) ++disagreements;
    }
    EXPECT_GT(disagreements, 0) << static_cast<int>(mistake);
  }
}

const std::vector<float> kExampleResidual = {1, -2, 0.5f, 0, 0, -1, 0, 3};
const std::vector<float> kExampleGradient = {1, -1, 0.5f, 0, 2, 0, 0, 0};

TEST(AdaCompTest, ExampleBytesAreThoseOfTheDocument) {
  Harness harness(Options(8, 4));
  harness.set_residual(kExampleResidual);
  const EncodedGradient encoded = harness.Compress(kExampleGradient);
  EXPECT_EQ(absl::BytesToHexString(PartBytes(encoded.parts[0])),
            "01060d00"
            "04000000"
            "0800000000000000"
            "1400000000000000"
            "0000000000000000"
            "0400"
            "0000"
            "08000000"
            "04000000"
            "00004040"
            "00c10083");
  EXPECT_EQ(harness.residual(),
            (std::vector<float>{-1, 0, 1, 0, -1, -1, 0, 0}));
  EXPECT_EQ(harness.Decode(encoded),
            (std::vector<float>{3, -3, 0, 0, 3, 0, 0, 3}));
  EXPECT_EQ(encoded.stats.count, 4);
}

TEST(AdaCompTest, PartsShowNeitherInTheChoiceNorInTheResidual) {
  constexpr int64_t kSize = 5011;
  for (const int bin_size : {50, 500}) {
    HarnessOptions options = Options(kSize, bin_size);
    Harness whole(options);
    options.part_ends = {1, 49, 51, 777, 777, 1500, 5010, kSize};
    Harness cut(options);
    for (int iteration = 0; iteration < 5; ++iteration) {
      const std::vector<float> gradient =
          MakeVector("laplace", kSize, iteration);
      const EncodedGradient a = whole.Compress(gradient);
      const EncodedGradient b = cut.Compress(gradient);
      EXPECT_EQ(whole.Positions(a), cut.Positions(b));
      EXPECT_EQ(Bits(whole.Decode(a)), Bits(cut.Decode(b)));
      EXPECT_EQ(Bits(whole.residual()), Bits(cut.residual()));
      EXPECT_EQ(a.stats.count, b.stats.count);
    }
  }
}

TEST(AdaCompTest, BinsAreThoseOfEachTensorAndItsKind) {
  HarnessOptions options;
  options.config = CompressorConfigFrom("name: 'adacomp'");
  options.tensors = {
      {0, {10, 5, 4, 4}}, {800, {100}}, {900, {7, 9}}, {963, {64, 20}}};
  options.dense_size = 963 + 1280;
  Harness harness(options);
  const std::vector<float> gradient =
      MakeVector("gaussian", options.dense_size, 9);
  const EncodedGradient encoded = harness.Compress(gradient);
  const std::vector<float> decoded = harness.Decode(encoded);
  const auto slice = [](const std::vector<float>& all, int begin, int end) {
    return std::vector<float>(all.begin() + begin, all.begin() + end);
  };
  // A vector and a matrix of 63 elements are sent unchanged.
  EXPECT_EQ(slice(decoded, 800, 963), slice(gradient, 800, 963));
  const auto expect_bins = [&](int begin, int end, int bin_size) {
    const std::vector<float> part = slice(gradient, begin, end);
    const Reference expected =
        StepOf(std::vector<float>(part.size()), part, bin_size, 2);
    EXPECT_EQ(slice(harness.residual(), begin, end), expected.residual);
  };
  expect_bins(0, 800, 50);
  expect_bins(963, 2243, 500);
}

TEST(AdaCompTest, ScaleBelowEveryFloatSendsNothing) {
  Harness harness(Options(1000, 1));
  std::vector<float> gradient(1000, 0.0f);
  gradient[400] = 1e-45f;
  const EncodedGradient encoded = harness.Compress(gradient);
  EXPECT_EQ(encoded.stats.count, 0);
  EXPECT_EQ(harness.residual(), gradient);
}

// What was sent plus what is kept is the sum of the gradients, although the
// server rejects every fifth push, which then goes back into the residual.
TEST(AdaCompTest, NothingIsLostInAThousandSteps) {
  constexpr int64_t kSize = 640;
  Harness harness(Options(kSize, 50));
  std::vector<double> expected(kSize, 0.0);
  std::vector<double> arrived(kSize, 0.0);
  double scale = 0;
  for (int iteration = 0; iteration < 1000; ++iteration) {
    const std::vector<float> gradient = MakeVector("laplace", kSize, iteration);
    const std::vector<float> sent = harness.Decode(harness.Compress(gradient));
    std::vector<float> residual = harness.residual();
    for (int64_t i = 0; i < kSize; ++i) {
      expected[i] += gradient[i];
      scale = std::max(scale, std::fabs(expected[i]));
      if (iteration % 5 == 4) {
        residual[i] += sent[i];
      } else {
        arrived[i] += sent[i];
      }
    }
    harness.set_residual(residual);
  }
  const std::vector<float> kept = harness.residual();
  for (int64_t i = 0; i < kSize; ++i) {
    EXPECT_NEAR(arrived[i] + kept[i], expected[i], 1e-4 * scale);
  }
}

TEST(AdaCompTest, SumOfThreeWorkersIsThatOfTheirVectors) {
  constexpr int64_t kSize = 5011;
  std::vector<float> sum(kSize, 0.0f);
  std::vector<float> expected(kSize, 0.0f);
  for (uint64_t worker = 0; worker < 3; ++worker) {
    Harness harness(Options(kSize, 50));
    const EncodedGradient encoded =
        harness.Compress(MakeVector("laplace", kSize, worker));
    AddPayload({encoded.parts[0].span()}, sum.data());
    const std::vector<float> decoded = harness.Decode(encoded);
    for (int64_t i = 0; i < kSize; ++i) expected[i] += decoded[i];
  }
  EXPECT_EQ(sum, expected);
}

// The paper counts the code words of elements and 32 bits for the scale.
TEST(AdaCompTest, RatesAreThoseOfThePaperAndOfTheWire) {
  constexpr int64_t kSize = 64000;
  Harness harness(Options(kSize, 500));
  EncodedGradient encoded;
  for (int iteration = 0; iteration < 60; ++iteration) {
    encoded = harness.Compress(MakeVector("laplace", kSize, iteration));
  }
  const double per_bin = encoded.stats.count / 128.0;
  EXPECT_GT(per_bin, 2);
  EXPECT_LT(per_bin, 8);
  const double paper = 32.0 * kSize / (16.0 * encoded.stats.count + 32);
  const double wire = 4.0 * kSize / encoded.parts[0].size_bytes();
  EXPECT_GT(paper, 100);
  EXPECT_LT(wire, paper);
  EXPECT_GT(wire, 0.9 * paper);
}

std::string Error(const std::string& payload, int64_t size = 8) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(payload.data());
  const auto info = ValidatePayload({{bytes, payload.size()}}, size);
  return info.ok() ? "accepted" : std::string(info.status().message());
}

template <typename Field>
std::string With(std::string payload, size_t offset, Field value) {
  std::memcpy(&payload[offset], &value, sizeof(value));
  return payload;
}

// Replaces the code words, of one byte each.
std::string WithWords(const std::string& payload, const std::string& words) {
  std::string changed = payload.substr(0, 48) + words;
  changed = With<uint64_t>(changed, 16, 16 + words.size());
  return With<uint32_t>(changed, 40, static_cast<uint32_t>(words.size()));
}

TEST(AdaCompTest, FaultsAreNamed) {
  Harness harness(Options(8, 4));
  harness.set_residual(kExampleResidual);
  const std::string good =
      PartBytes(harness.Compress(kExampleGradient).parts[0]);
  ASSERT_EQ(Error(good), "accepted");
  EXPECT_THAT(Error(With<uint8_t>(good, 1, 0)), HasSubstr("without its ind"));
  EXPECT_THAT(Error(With<uint8_t>(good, 2, 0)), HasSubstr("4 values in 20"));
  EXPECT_THAT(Error(With<uint64_t>(With<uint64_t>(good, 16, 19), 24, 1)),
              HasSubstr("bytes of their own"));
  EXPECT_THAT(Error(With<uint32_t>(good, 4, 3)), HasSubstr("more elements"));
  EXPECT_THAT(Error(With<uint32_t>(good, 4, 5)), HasSubstr("fewer elements"));
  EXPECT_THAT(Error(With<uint16_t>(good, 32, 16384)), HasSubstr("16384"));
  // Code words of two bytes.
  EXPECT_THAT(Error(With<uint16_t>(good, 32, 64)), HasSubstr("code words"));
  EXPECT_THAT(Error(With<uint16_t>(good, 34, 4)), HasSubstr("place 4 of 4"));
  EXPECT_THAT(Error(With<uint16_t>(good, 34, 1)), HasSubstr("position -1"));
  EXPECT_THAT(Error(With<uint32_t>(good, 36, 0)), HasSubstr("0 positions"));
  EXPECT_THAT(Error(With<uint32_t>(good, 36, 9)), HasSubstr("9 positions"));
  EXPECT_THAT(Error(With<uint32_t>(good, 36, 7)), HasSubstr("position 7 of"));
  EXPECT_THAT(Error(With<uint32_t>(good, 40, 3)), HasSubstr("words end"));
  EXPECT_THAT(Error(With<uint32_t>(good, 40, 5)), HasSubstr("fewer code"));
  for (const float bad : {-3.0f, -0.0f, INFINITY, NAN}) {
    EXPECT_THAT(Error(With<float>(good, 44, bad)), HasSubstr("a scale is"));
  }
  EXPECT_THAT(Error(With<float>(good, 44, 0)), HasSubstr("scale of 0"));
  EXPECT_THAT(Error(With<uint16_t>(good, 32, 0)),
              HasSubstr("fewer values than positions"));

  const auto words = [&good](const std::string& hex) {
    return Error(WithWords(good, absl::HexStringToBytes(hex)));
  };
  EXPECT_EQ(words("00c10083"), "accepted");
  EXPECT_THAT(words("0000"), HasSubstr("ascend"));
  EXPECT_THAT(words("04"), HasSubstr("place 4"));
  EXPECT_THAT(words("3f"), HasSubstr("place 63"));
  EXPECT_THAT(words("00bf"), HasSubstr("an empty bin after"));
  EXPECT_THAT(words("00ff01"), HasSubstr("an empty bin after"));
  EXPECT_THAT(words("ff02"), HasSubstr("after the last bin"));
  EXPECT_THAT(words("80ff01"), HasSubstr("after the last bin"));
  EXPECT_THAT(words("ff"), HasSubstr("words end"));
  EXPECT_THAT(words("ff00bf"), HasSubstr("longer form"));
  EXPECT_THAT(words("bfbf"), HasSubstr("longer form"));
  EXPECT_THAT(words("ff01"), HasSubstr("fewer elements"));
  EXPECT_THAT(words("00c1008380"), HasSubstr("after the last bin"));
  EXPECT_THAT(words("00c1bf"), HasSubstr("fewer elements"));
}

TEST(AdaCompTest, EveryChangedLastBitIsRefused) {
  Harness harness(Options(500, 50));
  const std::string good =
      PartBytes(harness.Compress(MakeVector("laplace", 500, 1)).parts[0]);
  for (size_t at = 48; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x80);
    EXPECT_NE(Error(bad, 500), "accepted") << at;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(Error(good.substr(0, size), 500), "accepted");
  }
}

TEST(AdaCompTest, LongRunsHaveTheShortestForm) {
  // 16-bit words at the longest run: 65 536 bins and one more, then an element.
  constexpr int64_t kSize = 65538 * 64;
  Harness harness(Options(kSize, 64));
  std::vector<float> gradient(kSize, 0.0f);
  gradient[kSize - 1] = 1;
  const std::string bytes = PartBytes(harness.Compress(gradient).parts[0]);
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(48)), "ffffffffffbf3f80");
  EXPECT_EQ(Error(bytes, kSize), "accepted");
}

}  // namespace
}  // namespace ps
