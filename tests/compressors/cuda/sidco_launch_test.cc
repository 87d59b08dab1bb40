// SIDCo on a real device, if there is one.
#include "gtest/gtest.h"

#ifdef PS_HAVE_CUDA

#include <memory>
#include <vector>

#include "compressors/cuda/device_sidco.h"
#include "compressors/sidco/sidco_estimate.h"
#include "tensor/cpu/cpu_sparse_kernels.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/sparse/sparse_work.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

TEST(SidcoOnDeviceTest, SelectsWhatTheCpuSelects) {
  PS_REQUIRE_DEVICE();
  auto streams = CudaStreams::Create(0);
  ASSERT_TRUE(streams.ok()) << streams.status();
  constexpr int64_t kBytes = int64_t{1} << 28;
  auto memory = std::make_shared<MemoryRegion>(
      AllocateDeviceMemory(kBytes).value(), kBytes);
  auto work = SparseWork::Create(streams->get(), memory).value();
  const auto kernels = NewCpuSparseKernels(1);
  const auto sieve = kernels->NewSieve();
  for (const int64_t n : {1000, 65537, 3000001}) {
    const std::vector<float> residual(n);
    const std::vector<float> gradient = MakeVector("laplace", n, 1);
    std::vector<float> out(n);
    DeviceSidcoRequest request;
    request.n = n;
    request.estimate.target = 0.01 * static_cast<double>(n);
    request.estimate.stages = 3;
    request.estimate.refine_steps = 8;
    EstimateRequest cpu = request.estimate;
    ASSERT_TRUE(sieve
                    ->ResetToSum(residual.data(), gradient.data(), n,
                                 SieveGuess(), out.data(), &cpu.moments)
                    .ok());
    cpu.population = cpu.moments.num_nonzero;
    SidcoEstimator estimator(TailLaw::kExponential);
    const ThresholdEstimate expected =
        estimator.Estimate(cpu, sieve.get()).value();

    auto vectors = AllocateArray<float>(memory, 3 * n, "vectors").value();
    const size_t size_bytes = n * sizeof(float);
    ASSERT_EQ(cudaMemcpy(vectors.get(), residual.data(), size_bytes,
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpy(vectors.get() + n, gradient.data(), size_bytes,
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    // The copies were on another stream.
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    auto sidco = NewDeviceSidco(n, 1 << 16, work.get()).value();
    DeviceSidcoResult result;
    const absl::Status status =
        sidco->Run(request, vectors.get(), vectors.get() + n,
                   vectors.get() + 2 * n, &result);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(result.outcome, SidcoOutcome::kEstimated);
    EXPECT_EQ(result.moments.sum, cpu.moments.sum);
    EXPECT_EQ(result.estimate.stages, expected.stages);
    // The device's logarithms may differ in the last bit of a double.
    EXPECT_NEAR(result.estimate.threshold, expected.threshold,
                1e-6 * expected.threshold);
    Selection selection;
    ASSERT_TRUE(sieve->SelectAbove(result.estimate.threshold, &selection).ok());
    ASSERT_EQ(result.selection.count, selection.size());
    std::vector<uint32_t> indices(selection.size());
    std::vector<float> values(selection.size());
    ASSERT_EQ(
        cudaMemcpy(indices.data(), result.selection.indices,
                   selection.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost),
        cudaSuccess);
    ASSERT_EQ(
        cudaMemcpy(values.data(), result.selection.values,
                   selection.size() * sizeof(float), cudaMemcpyDeviceToHost),
        cudaSuccess);
    EXPECT_EQ(indices, selection.indices);
    EXPECT_EQ(values, selection.values);
  }
}

}  // namespace
}  // namespace ps

#else

TEST(SidcoOnDeviceTest, NeedsTheToolkit) { GTEST_SKIP() << "no CUDA toolkit"; }

#endif  // PS_HAVE_CUDA
