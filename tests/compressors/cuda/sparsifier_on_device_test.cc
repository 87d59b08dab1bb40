// A sparsifier whose selector leaves elements on a device sends and keeps the
// same as one whose selector leaves them on the host, with every value code.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "compressors/selectors/selector.h"
#include "compressors/selectors/sparsifier.h"
#include "gtest/gtest.h"
#include "tests/compressors/cuda/encoding_check.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/value_codes/value_coding.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

constexpr int64_t kSize = 20011;

// Selects everything above a threshold; every fourth time all elements, and
// once none.
class TestSelector final : public Selector {
 public:
  TestSelector(Backend* backend, bool on_device)
      : backend_(backend),
        on_device_(on_device),
        sieve_(backend->sparse().NewSieve()) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    Moments moments;
    PS_RETURN_IF_ERROR(backend_->sparse().AddAndMeasure(
        input.residual, input.gradient, input.n, input.u, &moments));
    stats->non_finite = moments.num_non_finite > 0;
    if (stats->non_finite) return absl::OkStatus();
    const int call = num_calls_++;
    if (call % 4 == 1) {
      selected->all = true;
      return absl::OkStatus();
    }
    sieve_->Reset(input.u, input.n);
    const float threshold = call == 2 ? 2 * moments.max : 0.3f * moments.max;
    const absl::Status status =
        sieve_->SelectAbove(threshold, &selected->elements);
    if (!status.ok() || !on_device_) return status;
    uploaded_.emplace(selected->elements.indices, selected->elements.values,
                      backend_);
    selected->on_device = uploaded_->get();
    selected->elements.clear();
    return absl::OkStatus();
  }

 private:
  Backend* const backend_;  // Not owned.
  const bool on_device_;
  const std::unique_ptr<Sieve> sieve_;
  int num_calls_ = 0;
  std::optional<UploadedSelection> uploaded_;
};

// A sparsifier on one backend, with its residual.
class Side {
 public:
  Side(const PayloadCodes& codes, bool on_device, Backend* backend)
      : backend_(backend) {
    CompressorOptions options;
    options.config.set_name("test");
    options.config.set_index_code(codes.index_code);
    options.config.set_value_code(codes.value_code);
    *options.config.mutable_values() = codes.value_config;
    options.dense_size = kSize;
    options.part_ends = {1, kSize / 3, kSize};
    options.seed = 5;
    options.backend = backend;
    compressor_ = NewSparsifier(options, std::make_unique<TestSelector>(
                                             backend, on_device))
                      .value();
    residual_ = backend_->Allocate({kSize}).value();
  }

  EncodedGradient Compress(const std::vector<float>& gradient) {
    Tensor tensor = backend_->Allocate({kSize}).value();
    EXPECT_TRUE(backend_->CopyFromHost(gradient.data(), &tensor).ok());
    auto encoded = compressor_->Compress(tensor, &residual_);
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return *std::move(encoded);
  }

  std::vector<float> residual() const {
    std::vector<float> values(kSize);
    EXPECT_TRUE(backend_->CopyToHost(residual_, values.data()).ok());
    return values;
  }
  std::string state() const { return compressor_->SaveState(); }

 private:
  Backend* const backend_;  // Not owned.
  std::unique_ptr<Compressor> compressor_;
  Tensor residual_;
};

class SparsifierOnDeviceTest : public testing::TestWithParam<std::string> {};

TEST_P(SparsifierOnDeviceTest, SendsAndKeepsWhatItDoesOnTheHost) {
  PS_REQUIRE_DEVICE();
  const auto cuda_backend = NewBackendForTest("cuda");
  ASSERT_TRUE(cuda_backend.ok()) << cuda_backend.status();
  const auto cpu_backend = NewBackendForTest("cpu");
  for (const char* const index_code : {"auto", "elias_fano"}) {
    PayloadCodes codes = FindValueCoding(GetParam()).codes;
    codes.index_code = index_code;
    Side host(codes, false, cpu_backend->get());
    Side device(codes, true, cuda_backend->get());
    for (uint64_t iteration = 0; iteration < 8; ++iteration) {
      SCOPED_TRACE(testing::Message()
                   << index_code << ", iteration " << iteration);
      const std::vector<float> gradient =
          MakeVector("laplace", kSize, iteration);
      const EncodedGradient expected = host.Compress(gradient);
      const EncodedGradient actual = device.Compress(gradient);
      ASSERT_EQ(actual.stats.count, expected.stats.count);
      ASSERT_EQ(Bytes(actual), Bytes(expected));
      ASSERT_EQ(Bits(device.residual()), Bits(host.residual()));
      ASSERT_EQ(device.state(), host.state());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueCodes, SparsifierOnDeviceTest,
                         testing::ValuesIn(ValueCodingNames()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

}  // namespace
}  // namespace ps
