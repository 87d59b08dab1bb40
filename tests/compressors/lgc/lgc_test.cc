// Compressor "lgc" with its part at the servers, without a network.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/random.h"
#include "compressors/compressor.h"
#include "compressors/lgc/autoencoder.h"
#include "compressors/lgc/message.h"
#include "compressors/lgc/slice_coder.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kFirst = 200;    // The first tensor, which is sent whole;
constexpr int64_t kMiddle = 4096;  // a matrix, 1 in 10 of it, in 410 chunks;
constexpr int64_t kBias = 30;
constexpr int64_t kLast = 1100;  // the last tensor, 110 of it.
constexpr int64_t kSize = kFirst + kMiddle + kBias + kLast;
constexpr int64_t kCoded = 410;

CompressorConfig Config() {
  CompressorConfig config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "name: 'lgc' ratio: 0.1 lgc { train_iterations: 60 retry_every: 40 "
      "check_every: 10 gate_error: 0.9 gate_gain: 0.95 check_error: 0.95 }",
      &config));
  return config;
}

struct Sent {
  std::vector<uint32_t> indices;
  std::vector<std::vector<float>> decoded;  // By worker.
  std::vector<int64_t> bytes;               // Of what each pushes.
  int64_t bytes_down = 0;  // Of the positions with their remarks.
  bool coded = false;
};

class Cluster {
 public:
  Cluster(const CompressorConfig& config, int num_workers) : config_(config) {
    SliceCoderOptions options;
    options.config = config;
    options.num_elements = kSize;
    options.num_workers = num_workers;
    options.seed = 3;
    coder_options_ = options;
    coder_ = NewLgcSliceCoder(options);
    positions_.resize(num_workers);
    for (int rank = 0; rank < num_workers; ++rank) {
      workers_.push_back(NewWorker(rank));
    }
  }

  int num_workers() const { return static_cast<int>(workers_.size()); }
  Harness& worker(int rank) { return *workers_[rank]; }
  SliceCoder& coder() { return *coder_; }

  // Values that the workers have in common by `common`, larger in some places.
  std::vector<float> Gradient(int rank) const {
    RandomStream shared(RandomKey(uint64_t{5}, static_cast<uint64_t>(t_)));
    RandomStream own(RandomKey(uint64_t{6}, static_cast<uint64_t>(t_),
                               static_cast<uint64_t>(rank)));
    std::vector<float> gradient(kSize);
    for (float& value : gradient) {
      value = static_cast<float>(0.8 * shared.Normal() + 0.6 * own.Normal());
    }
    return gradient;
  }

  Sent Iterate() {
    const int leader = LeaderOf(t_, num_workers());
    positions_[leader] = SharedPositions();
    const PayloadBuffer of_leader =
        workers_[leader]->Compress(Gradient(leader)).parts[0];
    const PayloadBuffer shared = PositionsOf({of_leader.span()}).value();
    Sent sent;
    sent.indices = ReadPositions({shared.span()}, kSize).value();
    const std::string remark = ReadRemarks({shared.span()}).value().leader;
    sent.coded =
        !remark.empty() &&
        ReadLgcRemark(remark, static_cast<int64_t>(sent.indices.size()))->coded;
    sent.bytes.resize(num_workers());
    std::vector<PayloadBuffer> values(num_workers());
    std::vector<CompletedPayload> completed(num_workers());
    std::vector<CoderPush> pushes(num_workers());
    for (int rank = 0; rank < num_workers(); ++rank) {
      pushes[rank].rank = rank;
      if (rank == leader) {
        pushes[rank].pieces = {of_leader.span()};
        sent.bytes[rank] = static_cast<int64_t>(of_leader.size_bytes());
      } else {
        const PayloadBuffer told =
            WithServerRemarks(shared, coder_->RemarksFor(rank, t_));
        sent.bytes_down += static_cast<int64_t>(told.size_bytes());
        positions_[rank].given = true;
        positions_[rank].indices = ReadPositions({told.span()}, kSize).value();
        positions_[rank].remarks = {ReadRemarks({told.span()}).value()};
        values[rank] =
            WithoutPositions(workers_[rank]->Compress(Gradient(rank)).parts[0]);
        sent.bytes[rank] = static_cast<int64_t>(values[rank].size_bytes());
        completed[rank] = WithPositions({values[rank].span()}, shared).value();
        pushes[rank].pieces = completed[rank].pieces;
      }
      if (!CodedByCompressor(pushes[rank].pieces)) continue;
      const absl::StatusOr<int64_t> count = coder_->Check(
          rank, pushes[rank].pieces, rank == leader ? nullptr : &remark);
      EXPECT_TRUE(count.ok()) << count.status();
    }
    const absl::Status applied = coder_->Apply(t_, absl::MakeSpan(pushes));
    EXPECT_TRUE(applied.ok()) << applied;
    for (const std::string& line : coder_->news()) {
      news_.push_back(absl::StrCat(t_, ": ", line));
    }
    for (const CoderPush& push : pushes) {
      EXPECT_TRUE(ValidatePayload(push.pieces, kSize).ok());
      std::vector<uint32_t> indices;
      std::vector<float> decoded;
      DecodePayload(push.pieces, &indices, &decoded);
      EXPECT_EQ(indices, sent.indices);
      sent.decoded.push_back(std::move(decoded));
    }
    ++t_;
    return sent;
  }

  // Ends all processes and starts them again from their saved states.
  void StartAgain() {
    StateWriter writer("test");
    coder_->Save(&writer);
    const std::string saved = std::move(writer).Finish();
    StateReader reader = StateReader::Open("test", saved).value();
    coder_ = NewLgcSliceCoder(coder_options_);
    CHECK(coder_->Load(&reader).ok());
    CHECK(reader.Finish().ok());
    for (int rank = 0; rank < num_workers(); ++rank) {
      const std::string state = workers_[rank]->compressor().SaveState();
      const std::vector<float> residual = workers_[rank]->residual();
      workers_[rank] = NewWorker(rank);
      CHECK(workers_[rank]->compressor().LoadState(state).ok());
      workers_[rank]->set_residual(residual);
    }
  }

  // Goes on with other workers, new ones among them.
  void ChangeWorkers(int num_workers) {
    StateWriter writer("test");
    coder_->Save(&writer);
    const std::string saved = std::move(writer).Finish();
    StateReader reader = StateReader::Open("test", saved).value();
    coder_options_.num_workers = num_workers;
    coder_ = NewLgcSliceCoder(coder_options_);
    CHECK(coder_->Load(&reader).ok());
    positions_.resize(num_workers);
    workers_.clear();
    for (int rank = 0; rank < num_workers; ++rank) {
      workers_.push_back(NewWorker(rank));
    }
  }

  int64_t iteration() const { return t_; }
  const std::vector<std::string>& news() const { return news_; }

 private:
  std::unique_ptr<Harness> NewWorker(int rank) {
    HarnessOptions options;
    options.config = config_;
    options.dense_size = kSize;
    options.tensors.resize(4);
    options.tensors[0].shape = {10, 20};
    options.tensors[0].first = true;
    options.tensors[1].begin = kFirst;
    options.tensors[1].shape = {64, 64};
    options.tensors[2].begin = kFirst + kMiddle;
    options.tensors[2].shape = {kBias};
    options.tensors[3].begin = kFirst + kMiddle + kBias;
    options.tensors[3].shape = {10, 110};
    options.tensors[3].last = true;
    options.worker_rank = rank;
    options.num_workers = static_cast<int>(positions_.size());
    options.shared_positions = &positions_[rank];
    return std::make_unique<Harness>(options);
  }

  const CompressorConfig config_;
  SliceCoderOptions coder_options_;
  std::unique_ptr<SliceCoder> coder_;
  std::vector<SharedPositions> positions_;
  std::vector<std::unique_ptr<Harness>> workers_;
  std::vector<std::string> news_;
  int64_t t_ = 0;
};

// What all workers would send without codes: the sum of residual + gradient at
// the positions, which a reference keeps by itself.
class Reference {
 public:
  explicit Reference(int num_workers)
      : residuals_(num_workers, std::vector<float>(kSize, 0.0f)) {}

  std::vector<float> Values(int rank, const std::vector<float>& gradient,
                            const std::vector<uint32_t>& indices) {
    std::vector<float>& residual = residuals_[rank];
    for (int64_t i = 0; i < kSize; ++i) residual[i] += gradient[i];
    std::vector<float> values;
    for (const uint32_t i : indices) {
      values.push_back(residual[i]);
      residual[i] = 0;
    }
    return values;
  }
  const std::vector<float>& residual(int rank) const {
    return residuals_[rank];
  }

 private:
  std::vector<std::vector<float>> residuals_;
};

TEST(Lgc, GoesThroughItsPhases) {
  constexpr int kWorkers = 3;
  Cluster cluster(Config(), kWorkers);
  Reference reference(kWorkers);
  int64_t first_coded = -1;
  int64_t coded = 0;
  double worst = 0;
  double encoder_bytes = 0;
  for (int t = 0; t < 120; ++t) {
    std::vector<std::vector<float>> gradients;
    for (int rank = 0; rank < kWorkers; ++rank) {
      gradients.push_back(cluster.Gradient(rank));
    }
    const Sent sent = cluster.Iterate();
    const int64_t plain = static_cast<int64_t>(sent.indices.size()) - kCoded;
    if (sent.coded && first_coded < 0) first_coded = t;
    coded += sent.coded ? 1 : 0;
    double left = 0, total = 0;
    for (int rank = 0; rank < kWorkers; ++rank) {
      const std::vector<float> values =
          reference.Values(rank, gradients[rank], sent.indices);
      // Residuals are cleared where something is sent, and only there.
      EXPECT_EQ(cluster.worker(rank).residual(), reference.residual(rank));
      for (size_t i = 0; i < values.size(); ++i) {
        const uint32_t at = sent.indices[i];
        const bool in_code = at >= kFirst && at < kFirst + kMiddle;
        if (!sent.coded || !in_code) {
          EXPECT_EQ(sent.decoded[rank][i], values[i]);
          continue;
        }
        left += std::pow(sent.decoded[rank][i] - values[i], 2);
        total += std::pow(values[i], 2);
      }
      // Section 6 of the specification: of every coded value the leader sends a
      // number of its code for four, and a sign; everyone a hundredth of them.
      constexpr int64_t kHeader = 32 + 4;
      constexpr int64_t kInnovation = 4 + (5 * 9 + 7) / 8 + 5 * 4;
      constexpr int64_t kRemark = 4 + 4 + 8 + 4 + 4 + (kCoded + 7) / 8;
      if (!sent.coded) continue;
      const bool leads = rank == LeaderOf(t, kWorkers);
      const int64_t expected = kHeader + 4 * plain + kInnovation +
                               (leads ? kRemark + 4 * CodeLength(kCoded) : 0);
      // The leader's positions come on top: 4 bits each, in two runs.
      EXPECT_GE(sent.bytes[rank], expected);
      EXPECT_LE(sent.bytes[rank], expected + (leads ? 5 * 8 + 270 : 0));
    }
    if (total > 0) worst = std::max(worst, left / total);
    if (sent.bytes_down > 600000) {
      encoder_bytes += static_cast<double>(sent.bytes_down);
    }
  }
  for (const std::string& line : cluster.news()) std::cout << line << '\n';
  std::cout << "largest error of codes " << worst << '\n';
  // 60 iterations train; the error of the last is known one later, and the
  // leader after that has no encoder yet.
  EXPECT_EQ(first_coded, 62);
  EXPECT_EQ(coded, 120 - 62 - 5);
  EXPECT_LT(worst, 0.95);
  // Each worker gets the encoder once.
  EXPECT_NEAR(encoder_bytes, 3 * 4 * 172996, 30000);
  EXPECT_EQ(cluster.news().size(), 2u);
  EXPECT_THAT(cluster.news()[1], HasSubstr("codes of autoencoder 1"));
}

// An autoencoder that is used after few iterations.
CompressorConfig Soon() {
  CompressorConfig config = Config();
  config.mutable_lgc()->set_train_iterations(10);
  config.mutable_lgc()->set_retry_every(15);
  config.mutable_lgc()->set_gate_error(100);
  config.mutable_lgc()->set_gate_gain(100);
  config.mutable_lgc()->set_check_error(100);
  return config;
}

// Killed in training, at the decision, before and after each worker has the
// encoder, and later.
TEST(Lgc, RepeatsAndGoesOnBitByBit) {
  for (const int again : {-1, 5, 10, 11, 12, 13, 21, 24}) {
    Cluster one(Soon(), 2);
    Cluster two(Soon(), 2);
    std::string phases;
    for (int t = 0; t < 28; ++t) {
      if (t == again) two.StartAgain();
      const Sent first = one.Iterate();
      const Sent second = two.Iterate();
      phases += first.coded ? 'c' : 'v';
      ASSERT_EQ(first.decoded, second.decoded) << again << ", " << t;
      ASSERT_EQ(first.bytes, second.bytes) << again << ", " << t;
      ASSERT_EQ(first.bytes_down, second.bytes_down) << again << ", " << t;
    }
    EXPECT_EQ(one.news(), two.news());
    EXPECT_EQ(phases, "vvvvvvvvvvvvcccccccccvcccccc");
  }
}

TEST(Lgc, StaysWithValuesWhereTheGateRefuses) {
  CompressorConfig config = Config();
  config.mutable_lgc()->set_gate_error(0.1);
  config.mutable_lgc()->set_train_iterations(10);
  Cluster cluster(config, 2);
  for (int t = 0; t < 60; ++t) EXPECT_FALSE(cluster.Iterate().coded);
  ASSERT_EQ(cluster.news().size(), 3u);
  EXPECT_THAT(cluster.news()[1], HasSubstr("10: values are still sent"));
  EXPECT_THAT(cluster.news()[2], HasSubstr("50: values are still sent"));
}

TEST(Lgc, FallsBackWhenTheErrorGrows) {
  CompressorConfig config = Soon();
  config.mutable_lgc()->set_check_error(0.01);
  Cluster cluster(config, 2);
  std::string phases;
  for (int t = 0; t < 32; ++t) phases += cluster.Iterate().coded ? 'c' : 'v';
  // The value that begins the phase is measured, and after one more code the
  // autoencoder is trained again.
  EXPECT_EQ(phases, "vvvvvvvvvvvvccvvvvvvvvvvvvvvvvvc");
  EXPECT_THAT(cluster.news(), testing::Contains(HasSubstr("train the autoenco"
                                                          "der again")));
}

TEST(Lgc, TrainsAgainWithOtherWorkers) {
  Cluster cluster(Soon(), 2);
  for (int t = 0; t < 15; ++t) cluster.Iterate();
  cluster.ChangeWorkers(3);
  std::string phases;
  for (int t = 0; t < 20; ++t) phases += cluster.Iterate().coded ? 'c' : 'v';
  EXPECT_EQ(phases.find('c'), 17u) << phases;
}

TEST(Lgc, SendsAFewValuesUncoded) {
  CompressorConfig config = Config();
  config.mutable_lgc()->set_min_values(kCoded + 1);
  Cluster cluster(config, 2);
  for (int t = 0; t < 5; ++t) {
    cluster.Iterate();
    EXPECT_EQ(cluster.coder().RemarksFor(0, t).size(), 8u);
  }
  ASSERT_EQ(cluster.news().size(), 1u);
  EXPECT_THAT(cluster.news()[0], HasSubstr("too few values"));
}

// A leader's push that the part at the servers takes, in its parts.
struct LeadersPush {
  std::vector<uint32_t> indices;
  LgcRemark remark;
  LgcValues values;

  PayloadBuffer Payload() const {
    const PayloadBuffer plain =
        EncodeSparse("delta_varint", indices,
                     std::vector<float>(indices.size()), 0, kSize)
            .value();
    return EncodeCoded(plain, Write(remark),
                       Write(values, NumValues(remark.ranges)));
  }
};

LeadersPush GoodPush() {
  LeadersPush push;
  for (uint32_t i = 0; i < 300; ++i) push.indices.push_back(3 * i);
  push.remark.coded = true;
  push.remark.version = 1;
  push.remark.scale = 0.5f;
  push.remark.ranges = {{10, 150}, {150, 290}};
  push.remark.signs.assign(280, true);
  push.values.plain.assign(20, 1.0f);
  push.values.code.assign(CodeLength(280), 0.1f);
  push.values.places = {0, 5, 279};
  push.values.innovation = {2, -3, 4};
  return push;
}

// Check 3 of the specification.
TEST(LgcSliceCoder, RefusesWhatItCannotDecode) {
  Cluster cluster(Soon(), 2);
  while (!cluster.Iterate().coded) {
  }
  const SliceCoder& coder = cluster.coder();
  const auto check = [&coder](const LeadersPush& push) {
    return coder.Check(0, {push.Payload().span()}, nullptr).status();
  };
  const LeadersPush good = GoodPush();
  EXPECT_TRUE(check(good).ok()) << check(good);
  const auto refused = [&](const std::string& why, const LeadersPush& push) {
    EXPECT_EQ(check(push).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(check(push).message()), HasSubstr(why));
  };
  LeadersPush bad = good;
  bad.remark.version = 2;
  refused("a code of autoencoder 2; this slice has 1", bad);
  bad = good;
  bad.remark.ranges[1].end = 301;
  refused("elements 150 to 301", bad);
  bad = good;
  bad.remark.ranges = {{10, 20}};
  refused("values for an autoencoder", bad);
  bad = good;
  bad.values.code.pop_back();
  refused("an innovation of", bad);
  bad = good;
  bad.values.places = {0, 5, 280};
  refused("place 280", bad);
  bad = good;
  bad.values.places = {0, 5, 5};
  refused("place 5", bad);
  for (const float value : {std::nanf(""), INFINITY, 1e10f}) {
    bad = good;
    bad.values.code[3] = value;
    refused("a value of", bad);
    bad = good;
    bad.values.innovation[0] = value;
    refused("a value of", bad);
    bad = good;
    bad.remark.scale = value * 1e10f;
    refused("a value of", bad);
  }
  bad = good;
  bad.remark.scale = 0;
  refused("a scale of 0", bad);
  bad = good;
  bad.remark.signs.clear();
  refused("signs", bad);
  // Followers: only for a leader that sends codes, and without positions of
  // their own.
  const std::string remark = Write(good.remark);
  LeadersPush follower = good;
  follower.values.code.clear();
  const PayloadBuffer plain =
      EncodeSparse("delta_varint", good.indices,
                   std::vector<float>(good.indices.size()), 0, kSize)
          .value();
  const PayloadBuffer own = EncodeCoded(plain, "", Write(follower.values, 280));
  EXPECT_TRUE(coder.Check(1, {own.span()}, &remark).ok());
  const std::string none;
  EXPECT_FALSE(coder.Check(1, {own.span()}, &none).ok());
  EXPECT_FALSE(coder.Check(1, {good.Payload().span()}, &remark).ok());
}

TEST(LgcSliceCoder, SurvivesDamagedPushes) {
  Cluster cluster(Soon(), 2);
  while (!cluster.Iterate().coded) {
  }
  StateWriter writer("test");
  cluster.coder().Save(&writer);
  const std::string saved = std::move(writer).Finish();
  SliceCoderOptions options;
  options.config = Config();
  options.num_elements = kSize;
  options.num_workers = 2;
  const std::unique_ptr<SliceCoder> coder = NewLgcSliceCoder(options);
  const PayloadBuffer good = GoodPush().Payload();
  RandomStream stream(1);
  int accepted = 0;
  for (int i = 0; i < 400; ++i) {
    PayloadBuffer bad = PayloadBuffer::Allocate(good.size_bytes());
    std::copy(good.data(), good.data() + good.size_bytes(), bad.data());
    if (i % 2 == 0) {
      bad.Shrink(stream.Below(bad.size_bytes()));
    } else {
      bad.data()[stream.Below(bad.size_bytes())] ^= 1 << stream.Below(8);
    }
    if (!CodedByCompressor({bad.span()})) continue;
    if (!cluster.coder().Check(0, {bad.span()}, nullptr).ok()) continue;
    ++accepted;
    StateReader reader = StateReader::Open("test", saved).value();
    ASSERT_TRUE(coder->Load(&reader).ok());
    std::vector<CoderPush> pushes(2);
    pushes[0].pieces = {bad.span()};
    pushes[1].rank = 1;
    const PayloadBuffer nothing =
        EncodeSparse("raw32", {}, {}, 0, kSize).value();
    pushes[1].pieces = {nothing.span()};
    // An even iteration, which worker 0 leads.
    EXPECT_TRUE(coder->Apply(1000, absl::MakeSpan(pushes)).ok());
  }
  EXPECT_GT(accepted, 10);
}

TEST(LgcMessages, ComeBackAsTheyWere) {
  const LeadersPush push = GoodPush();
  const LgcRemark remark = ReadLgcRemark(Write(push.remark), 300).value();
  EXPECT_EQ(Write(remark), Write(push.remark));
  const LgcValues values =
      ReadLgcValues(Write(push.values, 280), 20, 280, CodeLength(280)).value();
  EXPECT_EQ(values.plain, push.values.plain);
  EXPECT_EQ(values.code, push.values.code);
  EXPECT_EQ(values.places, push.values.places);
  EXPECT_EQ(values.innovation, push.values.innovation);
  LgcPlan plan;
  plan.sends_code = true;
  plan.version = 7;
  plan.encoder = FloatBytes(InitialEncoder(1));
  const LgcPlan read = ReadLgcPlan(Write(plan)).value();
  EXPECT_TRUE(read.sends_code);
  EXPECT_EQ(read.version, 7u);
  EXPECT_EQ(read.encoder, plan.encoder);
  EXPECT_FALSE(ReadLgcPlan(Write(plan) + "x").ok());
}

TEST(LgcValues, AreOrderedBySignInEachRange) {
  const std::vector<float> values = {9, -1, 2, 0, -3, 8, -5, 4};
  const std::vector<ValueRange> ranges = {{1, 5}, {6, 8}};
  const std::vector<bool> signs = Signs(ranges, values);
  EXPECT_THAT(OrderOf(ranges, signs), testing::ElementsAre(2, 3, 1, 4, 7, 6));
  EXPECT_THAT(OrderOf(ranges, {}), testing::ElementsAre(1, 2, 3, 4, 6, 7));
  EXPECT_THAT(LargestPlaces({1, -5, 5, 2, 0}, 0.3), testing::ElementsAre(1, 2));
  EXPECT_THAT(LargestPlaces({1, -5}, 0), testing::IsEmpty());
}

}  // namespace
}  // namespace ps
