// Payloads packed on an emulated device do not depend on the order of its
// threads and blocks, and failures there are reported as errors.
#include "gtest/gtest.h"

#ifdef PS_HAVE_CUDA

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compressors/cuda/encoding/device_encoder.h"
#include "compressors/cuda/encoding/level_fit.h"
#include "compressors/cuda/encoding/value_packing.h"
#include "compressors/value_codes/fitted_levels.h"
#include "compressors/value_codes/level_rounding.h"
#include "compressors/value_codes/value_sums.h"
#include "tests/compressors/cuda/encoding_check.h"
#include "tests/compressors/cuda/level_cases.h"
#include "tests/compressors/vectors.h"
#include "tests/ptx/device.h"
#include "tests/tensor/cuda/host_block.h"
#include "tests/tensor/backends_for_test.h"

namespace ps {
namespace {

class EncodingOrdersTest : public testing::TestWithParam<ptx::Order> {
 protected:
  void SetUp() override {
    backend_ = NewBackendForTest("cuda").value();
    ptx::SetOrder(GetParam());
  }
  void TearDown() override { ptx::SetOrder(ptx::Order::kForward); }

  std::unique_ptr<Backend> backend_;
};

TEST_P(EncodingOrdersTest, DoNotShow) {
  constexpr int64_t kCount = 30011;
  for (const char* const index_code :
       {"auto", "raw32", "bitmap", "delta_varint", "rice", "elias_fano"}) {
    for (const char* const value_code :
         {"fp32", "bf16", "sign", "onebit", "ternary", "two_bit_threshold",
          "natural", "int8_block", "qsgd", "nuqsgd", "alq"}) {
      for (const int64_t spread : {2, 9, 70}) {
        SCOPED_TRACE(testing::Message()
                     << index_code << ", " << value_code << ", " << spread);
        EncodingCase encoding;
        encoding.codes.index_code = index_code;
        encoding.codes.value_code = value_code;
        encoding.dense_size = kCount * spread;
        encoding.indices = SomeIndices(kCount, encoding.dense_size, 5);
        encoding.values = MakeVector("heavy", kCount, 5);
        encoding.part_ends = {encoding.dense_size / 3, encoding.dense_size};
        ExpectSameSelected(encoding, backend_.get());
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(EncodingOrdersTest, DoNotShowInLevels) {
  for (const auto& cases : {LevelCases(), SparseLevelCases()}) {
    for (const LevelCase& each : cases) {
      SCOPED_TRACE(each.name);
      ExpectSameAll(each.encoding, backend_.get());
      ExpectSameSelected(Selected(each.encoding), backend_.get());
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOrders, EncodingOrdersTest,
                         testing::Values(ptx::Order::kForward,
                                         ptx::Order::kBackward,
                                         ptx::Order::kShuffled));

// The order of summation shows in the doubles, but almost never in a payload's
// floats.
template <class Sums>
void ExpectSumsOfTheHost(double Sums::*sum) {
  for (const int64_t n : {1, 15, 257, 4095, 4096, 4097, 20000}) {
    SCOPED_TRACE(n);
    std::vector<float> values = MakeVector("heavy", n, 3);
    PartPlan part;
    part.count = n;
    EncodeBatch batch;
    batch.values = values.data();
    batch.parts = &part;
    batch.num_parts = 1;
    std::vector<Sums> sums(part.num_chunks());
    Sums total;
    for (int64_t b = 0; b < part.num_chunks(); ++b) {
      HostBlock block(ThreadOrder::kMixed);
      SumShared<Sums> shared;
      SumValues(block, batch, b, &shared, sums.data());
      total.Add(sums[b]);
    }
    EXPECT_EQ(total.*sum, AddUp<Sums>(values.data(), n).*sum);
  }
}

TEST(EmulatedEncodingTest, AddsUpInTheHostsOrder) {
  ExpectSumsOfTheHost<MagnitudeSum>(&MagnitudeSum::sum);
  ExpectSumsOfTheHost<SpreadSums>(&SpreadSums::sum);
  ExpectSumsOfTheHost<SpreadSums>(&SpreadSums::sum_squares);
}

// The order of a sample's sums shows too, and decides between levels that are
// equally good.
TEST(EmulatedEncodingTest, AddsUpSamplesInTheHostsOrder) {
  ValuePacking packing;
  packing.code = ValueCode::kAlq;
  packing.bits = 4;
  packing.bucket_size = 100;
  packing.spacing = LevelSpacing::kFitted;
  for (const int64_t n : {1, 63, 64, 65, 1000, 16384, 20000}) {
    SCOPED_TRACE(n);
    std::vector<float> values = MakeVector("heavy", n, 3);
    std::vector<float> scales =
        BucketScales(values, packing.bucket_size, LevelScale::kEuclideanNorm);
    std::vector<uint64_t> expected =
        SampleMagnitudes(values, scales, packing.bucket_size, 7);
    PartPlan part;
    part.count = n;
    part.random_key = 7;
    std::vector<uint64_t> samples(SampleRoom(n));
    std::vector<SampleSums> sums(SampleRoom(n) + 1);
    std::vector<float> levels(kLevelTable);
    EncodeBatch batch;
    batch.values = values.data();
    batch.parts = &part;
    batch.num_parts = 1;
    batch.levels.scales = scales.data();
    batch.levels.levels = levels.data();
    batch.levels.samples = samples.data();
    batch.levels.sums = sums.data();
    batch.levels.max_sample = SampleRoom(n);
    HostBlock block(ThreadOrder::kMixed);
    FitShared shared;
    FitSamples(block, batch, packing, 0, &shared);
    std::sort(expected.begin(), expected.end());
    samples.resize(expected.size());
    ASSERT_EQ(samples, expected);
    const std::vector<SampleSums> expected_sums = SumSample(expected);
    for (size_t k = 0; k < expected_sums.size(); ++k) {
      ASSERT_EQ(sums[k].weight, expected_sums[k].weight) << k;
      ASSERT_EQ(sums[k].moment, expected_sums[k].moment) << k;
    }
  }
}

constexpr int64_t kSize = 300000;

EncodingCase SomeCase(const std::string& value_code = "onebit") {
  EncodingCase encoding;
  encoding.codes.value_code = value_code;
  if (value_code == "alq") {
    encoding.codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_OMEGA);
  }
  encoding.dense_size = kSize;
  encoding.indices = SomeIndices(9000, kSize, 5);
  encoding.values = MakeVector("laplace", 9000, 5);
  return encoding;
}

// Runs encode(encoder) with each of its calls failing in turn, with a new
// encoder each time so that it allocates memory too. The wait before memory is
// released is not counted.
template <class Encode>
void ExpectSaysWhatFailed(const PayloadCodes& codes, Backend* backend,
                          const Encode& encode) {
  auto encoder = NewDeviceEncoder(codes, backend);
  const int64_t before = ptx::NumCalls();
  ASSERT_TRUE(encode(encoder.get()).ok());
  // Launches, copies, stream ordering and waits.
  const int64_t num_calls = ptx::NumCalls() - before;
  EXPECT_GT(num_calls, 10);
  for (int64_t i = 0; i < num_calls; ++i) {
    encoder.reset();
    encoder = NewDeviceEncoder(codes, backend);
    ptx::FailCallsAfter(static_cast<int>(i), cudaErrorLaunchFailure);
    const absl::Status status = encode(encoder.get());
    ptx::FailCallsAfter(-1, cudaSuccess);
    EXPECT_FALSE(status.ok()) << "call " << i << " of " << num_calls;
  }
}

TEST(EmulatedEncodingTest, SaysWhatFailed) {
  const auto backend = NewBackendForTest("cuda").value();
  for (const char* const value_code : {"onebit", "qsgd", "alq"}) {
    SCOPED_TRACE(value_code);
    const EncodingCase encoding = SomeCase(value_code);
    UploadedSelection selection(encoding.indices, encoding.values,
                                backend.get());
    const std::vector<PayloadPart> parts = {{0, 1000, 1}, {1000, kSize, 2}};
    ExpectSaysWhatFailed(
        encoding.codes, backend.get(), [&](DeviceEncoder* encoder) {
          return encoder->EncodeSelected(selection.get(), parts).status();
        });
    ExpectSameSelected(encoding, backend.get());
    Tensor u = backend->Allocate({kSize}).value();
    ExpectSaysWhatFailed(encoding.codes, backend.get(),
                         [&](DeviceEncoder* encoder) {
                           return encoder->EncodeAll(u.data(), parts).status();
                         });
  }
}

// A window that a failed call has left half written is cleared.
TEST(EmulatedEncodingTest, PacksTheSameAfterAFailure) {
  const auto backend = NewBackendForTest("cuda").value();
  for (const char* const value_code : {"bf16", "alq"}) {
    EncodingCase encoding = SomeCase(value_code);
    encoding.codes.index_code = "rice";
    const auto encoder = NewDeviceEncoder(encoding.codes, backend.get());
    ExpectSameSelected(encoding, true, encoder.get(), backend.get());
    const std::vector<PayloadPart> parts = {{0, 1000, 1}, {1000, kSize, 2}};
    for (int calls = 0;; ++calls) {
      SCOPED_TRACE(testing::Message() << value_code << ", " << calls);
      UploadedSelection selection(encoding.indices, encoding.values,
                                  backend.get());
      ptx::FailCallsAfter(calls, cudaErrorLaunchFailure);
      const auto failed = encoder->EncodeSelected(selection.get(), parts);
      ptx::FailCallsAfter(-1, cudaSuccess);
      ExpectSameSelected(encoding, true, encoder.get(), backend.get());
      if (HasFatalFailure()) return;
      if (failed.ok()) break;
    }
  }
}

// Payloads of more than 4 MiB, too, and any number of them.
TEST(EmulatedEncodingTest, PayloadsAreInPinnedMemory) {
  constexpr int64_t kLong = 3'000'000;
  const auto backend = NewBackendForTest("cuda").value();
  Tensor u = backend->Allocate({kLong}).value();
  const std::vector<PayloadPart> parts = {
      {0, 5, 0}, {5, 5, 0}, {5, 10, 0}, {10, kLong, 0}};
  for (const char* const value_code : {"fp32", "bf16"}) {
    SCOPED_TRACE(value_code);
    PayloadCodes codes;
    codes.value_code = value_code;
    const auto encoder = NewDeviceEncoder(codes, backend.get());
    std::vector<PayloadBuffer> kept;
    for (int call = 0; call < 3; ++call) {
      const auto payloads = encoder->EncodeAll(u.data(), parts);
      ASSERT_TRUE(payloads.ok()) << payloads.status();
      EXPECT_GT(payloads->back().size_bytes(), size_t{4} << 20);
      for (const size_t p : {0, 2, 3}) kept.push_back((*payloads)[p]);
    }
    for (const PayloadBuffer& payload : kept) {
      EXPECT_TRUE(ptx::IsPinnedMemory(payload.data(), payload.size_bytes()));
    }
    kept.clear();
    const int64_t allocations = ptx::NumAllocations();
    for (int call = 0; call < 5; ++call) {
      EXPECT_TRUE(encoder->EncodeAll(u.data(), parts).ok());
    }
    EXPECT_EQ(ptx::NumAllocations(), allocations);
  }
}

TEST(EmulatedEncodingTest, SaysThatThereIsNoMemory) {
  const auto backend = NewBackendForTest("cuda").value();
  const EncodingCase encoding = SomeCase("alq");
  UploadedSelection selection(encoding.indices, encoding.values, backend.get());
  const auto encoder = NewDeviceEncoder(encoding.codes, backend.get());
  const std::vector<PayloadPart> parts = {{0, kSize, 1}};
  std::vector<Tensor> all;
  for (const int64_t n : {1 << 24, 1 << 20, 1 << 14, 1 << 6}) {
    for (;;) {
      auto tensor = backend->Allocate({n});
      if (!tensor.ok()) break;
      all.push_back(*std::move(tensor));
    }
  }
  const auto payloads = encoder->EncodeSelected(selection.get(), parts);
  EXPECT_EQ(payloads.status().code(), absl::StatusCode::kResourceExhausted)
      << payloads.status();
  all.clear();
  EXPECT_TRUE(encoder->EncodeSelected(selection.get(), parts).ok());
}

TEST(EmulatedEncodingTest, HoldsNoMoreThanItSays) {
  constexpr int64_t kLong = 24'000'000;  // 48 MB in bf16.
  const auto backend = NewBackendForTest("cuda").value();
  Tensor u = backend->Allocate({kLong}).value();
  std::vector<Tensor> all;
  for (;;) {
    auto tensor = backend->Allocate({1 << 20});
    if (!tensor.ok()) break;
    all.push_back(*std::move(tensor));
  }
  // The last ones lie together: 36 MiB, and the rest.
  ASSERT_GT(all.size(), 9u);
  all.resize(all.size() - 9);
  EncodingCase encoding = SomeCase();
  encoding.codes.value_code = "bf16";
  const auto encoder = NewDeviceEncoder(encoding.codes, backend.get());
  std::vector<PayloadPart> parts;
  for (int64_t begin = 0; begin < kLong; begin += kLong / 8) {
    parts.push_back({begin, begin + kLong / 8, 0});
  }
  const auto payloads = encoder->EncodeAll(u.data(), parts);
  EXPECT_TRUE(payloads.ok()) << payloads.status();
}

}  // namespace
}  // namespace ps

#else

TEST(EmulatedEncodingTest, NeedsTheToolkit) {
  GTEST_SKIP() << "no CUDA toolkit";
}

#endif  // PS_HAVE_CUDA
