// The arithmetic of one slice, compared with plain loops.
#include "server/slices/slice_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "compressors/state_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The pushes of one update; owns the bytes of their payloads.
class Pushes {
 public:
  void AddDense(const std::vector<float>& values) {
    Add(EncodeDense(values), static_cast<int64_t>(values.size()), true);
  }
  void AddSparse(const std::vector<uint32_t>& indices,
                 const std::vector<float>& values, int64_t num_elements) {
    Add(EncodeSparse("auto", indices, values, 0, num_elements).value(),
        static_cast<int64_t>(values.size()), false);
  }

  GradientPayloads Get() const {
    GradientPayloads gradients;
    gradients.all_dense = num_dense_ == buffers_.size();
    gradients.any_dense = num_dense_ > 0;
    gradients.sent_elements = sent_;
    for (const auto& pieces : pieces_) gradients.payloads.push_back(&*pieces);
    return gradients;
  }

 private:
  void Add(PayloadBuffer buffer, int64_t count, bool dense) {
    buffers_.push_back(buffer);
    pieces_.push_back(
        std::make_unique<PayloadPieces>(PayloadPieces{buffer.span()}));
    sent_ += count;
    num_dense_ += dense ? 1 : 0;
  }

  std::vector<PayloadBuffer> buffers_;
  std::vector<std::unique_ptr<PayloadPieces>> pieces_;
  size_t num_dense_ = 0;
  int64_t sent_ = 0;
};

class SliceWeightsTest : public ::testing::Test {
 protected:
  SliceWeightsTest() { config_.mutable_optimizer()->set_learning_rate(1); }

  std::unique_ptr<SliceWeights> Make(const std::vector<float>& first) {
    SliceOptions options;
    options.config = &config_;
    options.num_elements = static_cast<int64_t>(first.size());
    options.total_updates = 100;
    options.stretches = {{0, 0, options.num_elements, true}};
    const PayloadBuffer bytes = EncodeDense(first);
    return SliceWeights::Create(options, {bytes.span()}).value();
  }

  // For the mean of n elements.
  std::unique_ptr<SliceWeights> MakeMean(int64_t n) {
    config_.mutable_downlink()->set_mode(DownlinkConfig::MEAN);
    SliceOptions options;
    options.config = &config_;
    options.num_elements = n;
    options.rule = UpdateRule::kExchange;
    options.stretches = {{0, 0, n, true}};
    const PayloadBuffer nothing = EncodeSparse("auto", {}, {}, 0, n).value();
    return SliceWeights::Create(options, {nothing.span()}).value();
  }

  // The answer of an update without stages.
  PayloadBuffer Update(SliceWeights* weights, const Pushes& pushes) {
    auto outcome = weights->Begin(update_++, pushes.Get(), &timings_);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_THAT(outcome->squares, IsEmpty());
    return outcome->answer.bytes;
  }

  JobConfig config_;
  int64_t update_ = 0;
  ServerTimings timings_;
};

std::vector<float> Decoded(const PayloadBuffer& bytes,
                           std::vector<uint32_t>* indices = nullptr) {
  std::vector<uint32_t> all;
  std::vector<float> values;
  DecodePayload({bytes.span()}, &all, &values);
  if (indices != nullptr) *indices = all;
  return values;
}

TEST_F(SliceWeightsTest, LongSlicesAreAddedInStretchesAsAWhole) {
  // Several pieces that fit the cache; the last one is short.
  const int64_t n = 3 * 16 * 1024 + 77;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> expected(n);
  for (float& w : expected) w = normal(random);
  const auto weights = Make(expected);
  for (int update = 0; update < 2; ++update) {
    Pushes pushes;
    std::vector<float> sum(n, 0.0f);
    for (int rank = 0; rank < 3; ++rank) {
      std::vector<float> gradient(n);
      for (float& g : gradient) g = normal(random);
      for (int64_t i = 0; i < n; ++i) sum[i] += gradient[i];
      pushes.AddDense(gradient);
    }
    for (int64_t i = 0; i < n; ++i) expected[i] -= sum[i] / 3.0f;
    EXPECT_EQ(Decoded(Update(weights.get(), pushes)), expected);
  }
}

// Three workers, of which one, two, all or none send an element: with an
// optimizer that touches only those, with one that touches all, and beside a
// push of all elements.
TEST_F(SliceWeightsTest, TheMeanMayBeOfThoseThatSend) {
  config_.mutable_consistency()->set_mean(ConsistencyConfig::SENDERS);
  Pushes pushes;
  pushes.AddSparse({0, 1, 3}, {6, 6, 6}, 5);
  pushes.AddSparse({1, 3}, {2, 3}, 5);
  pushes.AddSparse({3}, {-3}, 5);
  std::vector<uint32_t> changed;
  EXPECT_THAT(Decoded(Update(Make({0, 0, 0, 0, 0}).get(), pushes), &changed),
              ElementsAre(-6, -4, -2));
  EXPECT_THAT(changed, ElementsAre(0, 1, 3));
  config_.mutable_optimizer()->set_name("momentum");
  EXPECT_THAT(Decoded(Update(Make({0, 0, 0, 0, 0}).get(), pushes)),
              ElementsAre(-6, -4, 0, -2, 0));
  pushes.AddDense({2, 1, 5, 2, 1});
  EXPECT_THAT(Decoded(Update(Make({0, 0, 0, 0, 0}).get(), pushes)),
              ElementsAre(-4, -3, -5, -2, -1));
}

TEST_F(SliceWeightsTest, AnAnswerOnItsWayKeepsItsValues) {
  const auto weights = Make({0, 0});
  Pushes pushes;
  pushes.AddDense({1, 2});
  const PayloadBuffer first = Update(weights.get(), pushes);
  const PayloadBuffer second = Update(weights.get(), pushes);
  EXPECT_THAT(Decoded(first), ElementsAre(-1, -2));
  EXPECT_THAT(Decoded(second), ElementsAre(-2, -4));
  EXPECT_NE(first.data(), second.data());
}

TEST_F(SliceWeightsTest, WeightsChangeWhereTheyAreOnceAnswersHaveLeft) {
  const auto weights = Make({0, 0});
  Pushes pushes;
  pushes.AddDense({1, 2});
  const uint8_t* const place = Update(weights.get(), pushes).data();
  EXPECT_EQ(Update(weights.get(), pushes).data(), place);
}

TEST_F(SliceWeightsTest, AnUpdateNamesWhatAnyWorkerTouched) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  const auto weights = Make({10, 11, 12, 13, 14, 15});
  Pushes pushes;
  pushes.AddSparse({1, 4}, {2, 4}, 6);
  pushes.AddSparse({4, 5}, {-4, 6}, 6);
  std::vector<uint32_t> indices;
  EXPECT_THAT(Decoded(Update(weights.get(), pushes), &indices),
              ElementsAre(10, 14, 12));
  EXPECT_THAT(indices, ElementsAre(1, 4, 5));
  EXPECT_THAT(Decoded(weights->All()), ElementsAre(10, 10, 12, 13, 14, 12));
  Pushes nothing;
  nothing.AddSparse({}, {}, 6);
  EXPECT_THAT(Decoded(Update(weights.get(), nothing)), IsEmpty());
}

TEST_F(SliceWeightsTest, OneDensePushTouchesEverything) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  config_.mutable_optimizer()->set_sparse_update(OptimizerConfig::LAZY);
  config_.mutable_optimizer()->set_weight_decay(0.5);
  const auto weights = Make({8, 8, 8});
  Pushes mixed;
  mixed.AddSparse({0}, {2}, 3);
  mixed.AddDense({2, 0, 4});
  EXPECT_THAT(Decoded(Update(weights.get(), mixed)), ElementsAre(2, 4, 2));
  // With LAZY, weight decay too applies only to the elements that were sent.
  Pushes sparse;
  sparse.AddSparse({1}, {1}, 3);
  EXPECT_THAT(Decoded(Update(weights.get(), sparse)), ElementsAre(1));
  EXPECT_THAT(Decoded(weights->All()), ElementsAre(2, 1, 2));
}

TEST_F(SliceWeightsTest, ClippingAsksForTheNormAndScales) {
  config_.mutable_optimizer()->set_clip_norm(5);
  for (const bool sparse : {false, true}) {
    const auto weights = Make({0, 0, 0});
    ASSERT_EQ(weights->num_stages(), 1);
    Pushes pushes;
    if (sparse) {
      pushes.AddSparse({0, 2}, {3, 4}, 3);
    } else {
      pushes.AddDense({3, 0, 4});
    }
    auto outcome = weights->Begin(0, pushes.Get(), &timings_);
    ASSERT_TRUE(outcome.ok());
    ASSERT_EQ(outcome->squares.size(), 1u);
    EXPECT_EQ(outcome->squares[0].gradient, 25);
    EXPECT_THAT(Decoded(weights->All()), ElementsAre(0, 0, 0));
    // The other slices' norms make the total 50.
    outcome = weights->Continue({{0, 2500, 0}}, 50, &timings_);
    ASSERT_TRUE(outcome.ok());
    EXPECT_THAT(outcome->squares, IsEmpty());
    const auto now = Decoded(weights->All());
    EXPECT_NEAR(now[0], -0.3, 1e-6);
    EXPECT_EQ(now[1], 0);
    EXPECT_NEAR(now[2], -0.4, 1e-6);
  }
}

TEST_F(SliceWeightsTest, ANormThatIsNotFiniteChangesNothing) {
  config_.mutable_training()->set_non_finite(TrainingConfig::SKIP);
  for (const char* rule : {"sgd", "lamb", "lars", "novograd"}) {
    SCOPED_TRACE(rule);
    config_.mutable_optimizer()->set_name(rule);
    config_.mutable_optimizer()->set_clip_norm(rule[0] == 's' ? 5 : 0);
    const auto weights = Make({1, 2});
    Pushes pushes;
    pushes.AddDense({3e38f, 3e38f});
    pushes.AddDense({3e38f, 3e38f});
    const auto asked = weights->Begin(0, pushes.Get(), &timings_);
    ASSERT_TRUE(asked.ok());
    ASSERT_EQ(asked->squares.size(), 1u);
    const double norm = std::sqrt(asked->squares[0].gradient);
    EXPECT_FALSE(std::isfinite(norm));
    const auto outcome = weights->Continue({{}}, norm, &timings_);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_THAT(outcome->squares, IsEmpty());
    EXPECT_THAT(Decoded(weights->All()), ElementsAre(1, 2));
  }
}

TEST_F(SliceWeightsTest, ANormThatIsNotFiniteEndsTheJobIfItIsToldTo) {
  config_.mutable_optimizer()->set_clip_norm(5);
  const auto weights = Make({1, 2});
  Pushes pushes;
  pushes.AddDense({1, 1});
  ASSERT_TRUE(weights->Begin(0, pushes.Get(), &timings_).ok());
  const auto outcome = weights->Continue(
      {{}}, std::numeric_limits<double>::quiet_NaN(), &timings_);
  EXPECT_TRUE(absl::IsDataLoss(outcome.status())) << outcome.status();
}

// fp16 and bf16 would send their largest number instead.
TEST_F(SliceWeightsTest, ShortCodesDoNotHideWeightsThatAreNotFinite) {
  for (const char* code : {"fp16", "bf16"}) {
    for (const auto mode : {DownlinkConfig::WEIGHTS, DownlinkConfig::UPDATE}) {
      config_.mutable_downlink()->set_mode(mode);
      config_.mutable_downlink()->set_value_code(code);
      const auto weights = Make({-3e38f, 2});
      Pushes pushes;
      pushes.AddSparse({0}, {3e38f}, 2);
      const auto outcome = weights->Begin(0, pushes.Get(), &timings_);
      EXPECT_TRUE(absl::IsDataLoss(outcome.status())) << outcome.status();
    }
  }
}

// What a code rounds away of a change comes with the element's next change, and
// nothing else comes. `view` is what a worker holds that adds up all answers.
TEST_F(SliceWeightsTest, CodedUpdatesLoseNothingForEver) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  CompressorConfig* const codes =
      config_.mutable_downlink()->mutable_compressor();
  for (const std::string code : {"int8_block", "qsgdinf", "bf16"}) {
    SCOPED_TRACE(code);
    codes->set_value_code(code);
    std::vector<float> view = {0, 10, 20, 30};
    const auto weights = Make(view);
    float exact = 30;
    double worst = 0;
    for (int update = 0; update < 20; ++update) {
      Pushes pushes;
      pushes.AddSparse({0, 3}, {-100.0f, 0.3f}, 4);
      exact -= 0.3f;
      auto outcome = weights->Begin(update, pushes.Get(), &timings_);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_TRUE(outcome->answer.difference);
      EXPECT_TRUE(outcome->answer.covers_pushes);
      std::vector<uint32_t> indices;
      Decoded(outcome->answer.bytes, &indices);
      EXPECT_THAT(indices, ElementsAre(0, 3));
      AddPayload({outcome->answer.bytes.span()}, view.data());
      EXPECT_EQ(Decoded(weights->All()), view);
      worst = std::max(worst, std::fabs(double{view[3]} - exact));
    }
    // One step of a code with 4 bits, scaled by the change of 100 at element 0.
    EXPECT_LT(worst, 100.0 / 7);
    EXPECT_EQ(view[1], 10);
    EXPECT_EQ(view[2], 20);
    EXPECT_NEAR(view[0], 2000, 100);
  }
}

// A code without exact values for every float must not hide what diverged.
TEST_F(SliceWeightsTest, CodedUpdatesDoNotHideWeightsThatAreNotFinite) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  config_.mutable_downlink()->mutable_compressor()->set_value_code(
      "int8_block");
  const auto weights = Make({-3e38f, 2});
  Pushes pushes;
  pushes.AddSparse({0}, {3e38f}, 2);
  const auto outcome = weights->Begin(0, pushes.Get(), &timings_);
  EXPECT_TRUE(absl::IsDataLoss(outcome.status())) << outcome.status();
}

// `view` is what a worker holds that adds up all answers.
TEST_F(SliceWeightsTest, ACompressedWayBackLosesNothingForEver) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::COMPRESSED);
  CompressorConfig* const down =
      config_.mutable_downlink()->mutable_compressor();
  down->set_name("topk");
  down->set_ratio(0.25);
  const int64_t n = 1000;
  std::vector<float> view(n, 1.0f);
  const auto weights = Make(view);
  std::vector<float> gradient(n);
  for (int64_t i = 0; i < n; ++i) gradient[i] = std::sin(0.1f * i);
  Pushes pushes;
  pushes.AddDense(gradient);
  const auto answer = weights->Begin(0, pushes.Get(), &timings_)->answer;
  EXPECT_TRUE(answer.difference);
  EXPECT_EQ(Decoded(answer.bytes).size(), 250u);
  AddPayload({answer.bytes.span()}, view.data());
  EXPECT_EQ(Decoded(weights->All()), view);
  // Three more updates with a zero gradient deliver the rest.
  Pushes nothing;
  nothing.AddDense(std::vector<float>(n, 0.0f));
  for (int update = 1; update < 4; ++update) {
    AddPayload(
        {weights->Begin(update, nothing.Get(), &timings_)->answer.bytes.span()},
        view.data());
  }
  EXPECT_EQ(Decoded(weights->All()), view);
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(view[i], 1.0f - gradient[i], 1e-6);
  }
}

TEST_F(SliceWeightsTest, AMeanHasNothingOfTheMeanBefore) {
  const auto weights = MakeMean(5);
  Pushes dense;
  dense.AddDense({1, 2, 3, 4, 5});
  dense.AddDense({3, 2, 1, 0, 5});
  EXPECT_THAT(Decoded(Update(weights.get(), dense)),
              ElementsAre(2, 2, 2, 2, 5));
  Pushes sparse;
  sparse.AddSparse({1, 4}, {2, 4}, 5);
  sparse.AddSparse({4}, {6}, 5);
  for (int update = 0; update < 2; ++update) {
    std::vector<uint32_t> indices;
    EXPECT_THAT(Decoded(Update(weights.get(), sparse), &indices),
                ElementsAre(1, 5));
    EXPECT_THAT(indices, ElementsAre(1, 4));
    EXPECT_THAT(Decoded(weights->All()), ElementsAre(0, 1, 0, 0, 5));
  }
  Pushes mixed;
  mixed.AddSparse({0}, {2}, 5);
  mixed.AddDense({2, 0, 0, 0, 4});
  EXPECT_THAT(Decoded(Update(weights.get(), mixed)),
              ElementsAre(2, 0, 0, 0, 2));
  Pushes other;
  other.AddSparse({2}, {8}, 5);
  EXPECT_THAT(Decoded(Update(weights.get(), other)), ElementsAre(8));
  EXPECT_THAT(Decoded(weights->All()), ElementsAre(0, 0, 8, 0, 0));
  EXPECT_THAT(Decoded(Update(weights.get(), Pushes())), IsEmpty());
}

// With every compressor and value code: all answers together, and the residual,
// are all means together.
TEST_F(SliceWeightsTest, AMeanThatIsCompressedLosesNothing) {
  constexpr int64_t kN = 600;
  CompressorConfig* const down =
      config_.mutable_downlink()->mutable_compressor();
  down->set_ratio(0.1);
  std::vector<std::pair<std::string, std::string>> settings = {
      {"none", "int8_block"}, {"none", "qsgdinf"}, {"topk", "int8_block"}};
  for (const std::string& name : CompressorRegistry().Names()) {
    const CompressorPlugin plugin = FindCompressor(name);
    if (name == "none" || plugin.writes_own_code || plugin.chooses_by_time) {
      continue;
    }
    settings.emplace_back(name, "fp32");
  }
  EXPECT_GT(settings.size(), 8u);
  for (const auto& [name, code] : settings) {
    SCOPED_TRACE(name + " " + code);
    down->set_name(name);
    down->set_value_code(code);
    const auto weights = MakeMean(kN);
    std::vector<float> sent(kN);
    std::vector<double> means(kN);
    for (int update = 0; update < 6; ++update) {
      Pushes pushes;
      std::vector<float> dense(kN);
      for (int64_t i = 0; i < kN; ++i) {
        dense[i] = std::sin(0.1f * i) * std::cos(0.3f * update);
        // The last updates have sparse pushes only.
        if (update < 3) means[i] += dense[i] / 2;
      }
      if (update < 3) pushes.AddDense(dense);
      if (update >= 3) pushes.AddSparse({7}, {1}, kN);
      pushes.AddSparse({7, 500}, {1, 2}, kN);
      means[7] += update < 3 ? 0.5 : 1;
      means[500] += 1;
      auto outcome = weights->Begin(update, pushes.Get(), &timings_);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_FALSE(outcome->answer.difference);
      AddPayload({outcome->answer.bytes.span()}, sent.data());
    }
    StateWriter writer("test");
    weights->Save(&writer);
    const std::string saved = std::move(writer).Finish();
    StateReader reader = StateReader::Open("test", saved).value();
    std::vector<float> residual(kN);
    ASSERT_TRUE(reader.GetFloats(absl::MakeSpan(residual)).ok());
    if (name == "none") {
      EXPECT_EQ(reader.GetInt().value(), 6);
    } else {
      ASSERT_TRUE(reader.GetBytes().ok());
    }
    ASSERT_TRUE(reader.GetFloats(absl::MakeSpan(residual)).ok());
    ASSERT_TRUE(reader.Finish().ok());
    for (int64_t i = 0; i < kN; ++i) {
      ASSERT_NEAR(sent[i] + residual[i], means[i], 1e-5) << i;
    }
  }
}

// A value code alone sends what was pushed, and nothing else.
TEST_F(SliceWeightsTest, ACodedMeanHasTheElementsThatWerePushed) {
  config_.mutable_downlink()->mutable_compressor()->set_value_code(
      "int8_block");
  const auto weights = MakeMean(400);
  Pushes dense;
  dense.AddDense(std::vector<float>(400, 0.3f));
  EXPECT_EQ(Decoded(Update(weights.get(), dense)).size(), 400u);
  Pushes pushes;
  pushes.AddSparse({3, 300}, {-100.0f, 0.3f}, 400);
  std::vector<uint32_t> indices;
  Decoded(Update(weights.get(), pushes), &indices);
  EXPECT_THAT(indices, ElementsAre(3, 300));
}

TEST_F(SliceWeightsTest, AMeanThatIsNotFiniteEndsTheJob) {
  for (const auto& [compressor, code] :
       {std::pair<const char*, const char*>{"none", "int8_block"},
        {"topk", "fp32"},
        {"topk", "int8_block"}}) {
    auto* const down = config_.mutable_downlink()->mutable_compressor();
    down->set_name(compressor);
    down->set_value_code(code);
    const auto weights = MakeMean(2);
    Pushes pushes;
    pushes.AddDense({3e38f, 1});
    pushes.AddDense({3e38f, 1});
    const auto outcome = weights->Begin(0, pushes.Get(), &timings_);
    EXPECT_TRUE(absl::IsDataLoss(outcome.status())) << outcome.status();
  }
}

TEST(CheckFirst, SlicesOfMeansBeginWithoutElements) {
  PayloadInfo dense;
  PayloadInfo nothing;
  nothing.index_code = IndexCode::kRaw32;
  EXPECT_TRUE(CheckFirst(UpdateRule::kOptimizer, dense).ok());
  EXPECT_TRUE(CheckFirst(UpdateRule::kExchange, nothing).ok());
  for (const auto& [rule, info] :
       {std::pair<UpdateRule, PayloadInfo>{UpdateRule::kOptimizer, nothing},
        {UpdateRule::kMean, nothing},
        {UpdateRule::kExchange, dense}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckFirst(rule, info)));
  }
  dense.value_code = ValueCode::kFp16;
  EXPECT_TRUE(absl::IsInvalidArgument(CheckFirst(UpdateRule::kMean, dense)));
  nothing.count = 1;
  EXPECT_TRUE(
      absl::IsInvalidArgument(CheckFirst(UpdateRule::kExchange, nothing)));
}

}  // namespace
}  // namespace ps
