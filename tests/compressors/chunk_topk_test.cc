// The selection of one element of each chunk, and the code of its positions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HarnessOptions OptionsOf(const std::string& config, int64_t n) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.dense_size = n;
  return options;
}

double Energy(const std::vector<float>& values) {
  double sum = 0;
  for (const float x : values) sum += double{x} * x;
  return sum;
}

TEST(ChunkTopKTest, SendsTheFirstOfTheLargestOfEachChunk) {
  Harness harness(OptionsOf("name: 'chunk_topk' ratio: 0.25", 10));
  // Equal magnitudes, a negative zero, zeros only, and a short last chunk.
  const EncodedGradient encoded =
      harness.Compress({1, -3, 3, 2, 0, -0.0f, 0, 0, 0.5f, -0.5f});
  EXPECT_THAT(harness.Positions(encoded), ElementsAre(1, 4, 8));
  EXPECT_EQ(encoded.stats.count, 3);
  EXPECT_THAT(harness.residual(),
              ElementsAre(1, 0, 3, 2, 0, 0, 0, 0, 0, -0.5f));
}

TEST(ChunkTopKTest, ChunksBeginAnewInEachPart) {
  HarnessOptions options = OptionsOf("name: 'chunk_topk' ratio: 0.25", 10);
  options.part_ends = {3, 3, 10};
  Harness harness(options);
  EXPECT_THAT(
      harness.Positions(harness.Compress({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})),
      ElementsAre(2, 6, 9));
}

// At sizes around whole chunks and threads' stretches, against a plain loop.
TEST(ChunkTopKTest, EqualsAPlainLoop) {
  for (const int64_t chunk : {2, 7, 100, 1000}) {
    for (const int64_t n : {1, 99, 100, 101, 70001}) {
      for (const std::string& name : VectorNames()) {
        HarnessOptions options = OptionsOf(
            absl::StrCat("name: 'chunk_topk' ratio: ", 1.0 / chunk), n);
        options.num_threads = 3;
        Harness harness(options);
        const std::vector<float> u = MakeVector(name, n, 5);
        std::vector<int64_t> expected;
        for (int64_t begin = 0; begin < n; begin += chunk) {
          int64_t best = begin;
          for (int64_t i = begin; i < std::min(n, begin + chunk); ++i) {
            if (std::fabs(u[i]) > std::fabs(u[best])) best = i;
          }
          expected.push_back(best);
        }
        ASSERT_EQ(harness.Positions(harness.Compress(u)), expected)
            << name << " of " << n << " in chunks of " << chunk;
      }
    }
  }
}

// Several of each chunk, with short last chunks and ties, against a sort.
TEST(ChunkTopKTest, SeveralOfEachEqualASort) {
  const std::pair<int64_t, int64_t> kShapes[] = {{3, 7}, {64, 4096}, {2, 100}};
  for (const auto& [k, chunk] : kShapes) {
    for (const int64_t n : {1, 8, 200, 4097, 70001}) {
      for (const std::string& name : VectorNames()) {
        HarnessOptions options = OptionsOf("name: 'chunk_topk'", n);
        options.config.set_ratio(static_cast<double>(k) /
                                 static_cast<double>(chunk));
        options.config.mutable_chunk_topk()->set_chunk_elements(chunk);
        options.num_threads = 3;
        Harness harness(options);
        const std::vector<float> u = MakeVector(name, n, 5);
        std::vector<int64_t> expected;
        for (int64_t begin = 0; begin < n; begin += chunk) {
          std::vector<int64_t> places(std::min(chunk, n - begin));
          std::iota(places.begin(), places.end(), begin);
          std::stable_sort(places.begin(), places.end(),
                           [&u](int64_t a, int64_t b) {
                             return std::fabs(u[a]) > std::fabs(u[b]);
                           });
          places.resize(std::min<int64_t>(k, places.size()));
          std::sort(places.begin(), places.end());
          expected.insert(expected.end(), places.begin(), places.end());
        }
        ASSERT_EQ(harness.Positions(harness.Compress(u)), expected)
            << k << " of " << chunk << " of " << name << " of " << n;
      }
    }
  }
}

// SparseLoCo's paper counts 12 bits for each position, 2 for each value and the
// means of the bins. Ours are those values, and positions in a Rice code whose
// parameter is 5 at one element of 64.
TEST(ChunkTopKTest, SparseLoCoTakesTheBytesThatAreCounted) {
  constexpr int64_t kHeader = 32;
  constexpr int64_t kMeans = 4 * sizeof(float);
  for (const int64_t n : {4096, 256 * 4096, 256 * 4096 + 100}) {
    HarnessOptions options = OptionsOf(
        "name: 'chunk_topk' ratio: 0.015625 "
        "chunk_topk { chunk_elements: 4096 } "
        "value_code: 'two_bit_bins' feedback_decay: 0.95",
        n);
    Harness harness(options);
    const EncodedGradient encoded =
        harness.Compress(MakeVector("gaussian", n, 1));
    const auto info = ValidatePayload({encoded.parts[0].span()}, n);
    ASSERT_TRUE(info.ok()) << info.status();
    const int64_t entries = 64 * ((n + 4095) / 4096);
    EXPECT_EQ(info->count, entries);
    EXPECT_EQ(info->value_code, ValueCode::kTwoBitBins);
    EXPECT_EQ(info->value_bytes, kMeans + (2 * entries + 7) / 8);
    ASSERT_EQ(info->index_code, IndexCode::kRice);
    int64_t bits = 0;
    int64_t next = 0;
    for (const int64_t position : harness.Positions(encoded)) {
      bits += ((position - next) >> 5) + 1 + 5;
      next = position + 1;
    }
    EXPECT_EQ(info->index_bytes, 1 + (bits + 7) / 8);
    const auto size = static_cast<int64_t>(encoded.parts[0].size_bytes());
    EXPECT_EQ(size, kHeader + info->value_bytes + info->index_bytes);
    if (n == 4096) continue;  // One chunk is not much longer than its header.
    EXPECT_LT(8 * size, 9.7 * static_cast<double>(entries));
    EXPECT_LT(size, kMeans + (12 + 2) * entries / 8);
  }
}

// As exact top-k does: of each chunk at most the share 1 - 1/C is left.
TEST(ChunkTopKTest, LeavesAtMostWhatTopKMayLeave) {
  const char* const kNames[] = {"gaussian", "laplace", "heavy", "constant"};
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t chunk = 2 + trial % 37;
    const int64_t n = chunk * (1 + trial % 11);
    Harness harness(
        OptionsOf(absl::StrCat("name: 'chunk_topk' ratio: ", 1.0 / chunk), n));
    const std::vector<float> u = MakeVector(kNames[trial % 4], n, trial);
    harness.Compress(u);
    const double share = 1 - 1.0 / static_cast<double>(chunk);
    EXPECT_LE(Energy(harness.residual()), share * Energy(u) * (1 + 1e-6))
        << "trial " << trial;
  }
}

struct KeptEnergy {
  const char* law;
  double chunks;
  double exact;
};

// The shares that an independent implementation (numpy) keeps with chunks of
// 112, and with exact top-k of the same number of elements.
TEST(ChunkTopKTest, KeepsAlmostTheEnergyOfExactTopK) {
  constexpr int64_t kSize = 112 * 4000;
  for (const KeptEnergy& expected : {KeptEnergy{"laplace", 0.131, 0.148},
                                     KeptEnergy{"gaussian", 0.070, 0.077}}) {
    const std::vector<float> u = DrawLaw(expected.law, kSize, 3);
    const auto kept = [&u](const std::string& name) {
      HarnessOptions options =
          OptionsOf(absl::StrCat("name: '", name, "'"), kSize);
      options.config.set_ratio(1.0 / 112);
      Harness harness(options);
      const EncodedGradient encoded = harness.Compress(u);
      EXPECT_EQ(encoded.stats.count, 4000) << name;
      return Energy(harness.Decode(encoded)) / Energy(u);
    };
    EXPECT_NEAR(kept("chunk_topk"), expected.chunks, 0.004) << expected.law;
    EXPECT_NEAR(kept("topk"), expected.exact, 0.004) << expected.law;
  }
}

TEST(ChunkTopKTest, APositionTakesAsManyBitsAsItsChunkNeeds) {
  constexpr int64_t kChunks = 1000;
  const std::pair<int, int> kBits[] = {
      {25, 5}, {50, 6}, {64, 6}, {65, 7}, {400, 9}};
  for (const auto& [chunk, bits] : kBits) {
    // The last chunk is short.
    const int64_t n = chunk * kChunks - chunk / 2;
    HarnessOptions options = OptionsOf("name: 'chunk_topk'", n);
    options.config.set_ratio(1.0 / chunk);
    Harness harness(options);
    const EncodedGradient encoded =
        harness.Compress(MakeVector("gaussian", n, 1));
    const auto info = ValidatePayload({encoded.parts[0].span()}, n);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->index_code, IndexCode::kChunks);
    EXPECT_EQ(info->count, kChunks);
    EXPECT_EQ(info->index_bytes, 8 + (kChunks * bits + 7) / 8) << chunk;
  }
}

// Bytes of a payload of 10 positions in chunks of 4 and of 1.
std::string Example() {
  const std::vector<uint32_t> indices = {102, 104, 107, 108, 109};
  const std::vector<ChunkRun> chunks = {{4, 7}, {1, 3}};
  std::vector<float> values = {1.5f, -2, 0.25f, 0, 1};
  const auto payload =
      EncodeElements({}, indices, absl::MakeSpan(values), 100, 10, 0, chunks);
  EXPECT_TRUE(payload.ok()) << payload.status();
  return std::string(payload->data(), payload->data() + payload->size_bytes());
}

// "auto" takes raw32 or rice here, so the bytes of `chunks` are put together.
std::string InChunks(const std::string& indices) {
  std::string bytes = Example();
  bytes.resize(kPayloadHeaderBytes + 5 * sizeof(float));
  bytes[1] = static_cast<char>(IndexCode::kChunks);
  bytes[24] = static_cast<char>(indices.size());
  return bytes + indices;
}

absl::StatusOr<PayloadInfo> Validate(const std::string& bytes) {
  return ValidatePayload(
      {{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}}, 10);
}

std::string Error(const std::string& indices) {
  return std::string(Validate(InChunks(indices)).status().message());
}

std::string RunOf(uint32_t chunk_size, uint32_t size) {
  std::string bytes(8, '\0');
  std::memcpy(&bytes[0], &chunk_size, 4);
  std::memcpy(&bytes[4], &size, 4);
  return bytes;
}

// The example of docs/wire_format.md: places 2 and 0 in two bits each.
TEST(ChunksCodeTest, IsReadAsItIsWritten) {
  const std::string good = InChunks(RunOf(4, 7) + "\x02" + RunOf(1, 3));
  ASSERT_TRUE(Validate(good).ok()) << Validate(good).status();
  std::vector<uint32_t> indices;
  std::vector<float> values;
  DecodePayload({{reinterpret_cast<const uint8_t*>(good.data()), good.size()}},
                &indices, &values);
  EXPECT_THAT(indices, ElementsAre(2, 4, 7, 8, 9));
  EXPECT_THAT(values, ElementsAre(1.5f, -2, 0.25f, 0, 1));
}

TEST(ChunksCodeTest, WhatIsMalformedIsNamed) {
  const std::string tail = RunOf(1, 3);
  EXPECT_THAT(Error(RunOf(4, 7) + "\x0e" + tail),
              HasSubstr("place 3 in a chunk of 3 positions"));
  EXPECT_THAT(Error(RunOf(4, 7) + "\x12" + tail), HasSubstr("bits are left"));
  EXPECT_THAT(Error(RunOf(0, 7) + "\x02" + tail), HasSubstr("chunks of 0"));
  EXPECT_THAT(Error(RunOf(8, 7) + "\x02" + tail), HasSubstr("chunks of 8"));
  EXPECT_THAT(Error(RunOf(4, 0) + "\x02" + tail), HasSubstr("run of 0"));
  EXPECT_THAT(Error(RunOf(4, 11) + "\x02" + tail), HasSubstr("run of 11"));
  EXPECT_THAT(Error(RunOf(4, 7)), HasSubstr("fewer places"));
  EXPECT_THAT(Error(RunOf(4, 7) + "\x02"), HasSubstr("fewer chunks"));
  EXPECT_THAT(Error(RunOf(4, 7) + "\x02" + RunOf(1, 4)), HasSubstr("run of 4"));
  EXPECT_THAT(Error(RunOf(4, 7) + "\x02" + RunOf(3, 3) + std::string(1, '\0')),
              HasSubstr("fewer chunks"));
  EXPECT_THAT(Error(RunOf(1, 10)), HasSubstr("chunks of 5 positions"));
  EXPECT_THAT(Error(RunOf(4, 7) + "\x02" + tail + "x"), HasSubstr("are left"));
}

}  // namespace
}  // namespace ps
