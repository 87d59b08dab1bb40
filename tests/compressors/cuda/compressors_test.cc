// Every compressor sends from a device, bit for bit, what it sends from the
// CPU.
#include <memory>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"

namespace ps {
namespace {

constexpr int64_t kSize = 70007;

// A compressor on one backend, with its residual.
class Side {
 public:
  Side(const std::string& compressor, Backend* backend) : backend_(backend) {
    CompressorOptions options;
    options.config.set_name(compressor);
    options.config.set_ratio(0.01);
    options.config.set_clip_norm(100);
    options.dense_size = kSize;
    options.part_ends = {kSize / 3, kSize};
    options.tensors = SomeTensors(kSize);
    options.seed = 5;
    options.compressed_buckets = &compressed_;
    options.backend = backend;
    auto made = NewCompressor(options);
    EXPECT_TRUE(made.ok()) << made.status();
    compressor_ = *std::move(made);
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
  Compressor& compressor() { return *compressor_; }

 private:
  const std::vector<bool> compressed_ = {true};  // Of "auto".
  Backend* const backend_;                       // Not owned.
  std::unique_ptr<Compressor> compressor_;
  Tensor residual_;
};

class CompressorsOnDevicesTest : public testing::TestWithParam<std::string> {};

TEST_P(CompressorsOnDevicesTest, SendWhatTheySendFromTheCpu) {
  const auto cuda_backend = NewBackendForTest("cuda");
  if (!cuda_backend.ok()) {
    GTEST_SKIP() << "no CUDA device: " << cuda_backend.status();
  }
  const auto cpu_backend = NewBackendForTest("cpu");
  Side cpu(GetParam(), cpu_backend->get());
  Side cuda(GetParam(), cuda_backend->get());
  const char* const kNames[] = {"laplace", "laplace", "heavy",   "sparse",
                                "laplace", "zero",    "laplace", "laplace"};
  uint64_t iteration = 0;
  for (const char* const name : kNames) {
    SCOPED_TRACE(testing::Message() << "iteration " << iteration);
    const std::vector<float> gradient = MakeVector(name, kSize, ++iteration);
    const EncodedGradient expected = cpu.Compress(gradient);
    const EncodedGradient actual = cuda.Compress(gradient);
    ASSERT_EQ(Bytes(actual), Bytes(expected));
    ASSERT_EQ(actual.stats.threshold, expected.stats.threshold);
    ASSERT_EQ(actual.stats.raw_count, expected.stats.raw_count);
    ASSERT_EQ(actual.stats.stages, expected.stats.stages);
    ASSERT_EQ(actual.stats.fallback, expected.stats.fallback);
    ASSERT_EQ(Bits(cuda.residual()), Bits(cpu.residual()));
    ASSERT_EQ(cuda.compressor().SaveState(), cpu.compressor().SaveState());
  }
}

INSTANTIATE_TEST_SUITE_P(AllCompressors, CompressorsOnDevicesTest,
                         testing::ValuesIn(CompressorRegistry().Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

}  // namespace
}  // namespace ps
