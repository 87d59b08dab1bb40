// Memory of the CPU backend.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "common/thread_pool.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

TEST(CpuBackend, AllocatesZeroedAlignedTensorsOfAnyShape) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  for (const Shape& shape :
       {Shape{0}, Shape{1}, Shape{15, 1}, Shape{3, 5, 7}}) {
    const auto tensor = backend->Allocate(shape);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->shape(), shape);
    EXPECT_EQ(tensor->size(), NumElements(shape));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
    for (int64_t i = 0; i < tensor->size(); ++i) {
      EXPECT_EQ(tensor->data()[i], 0);
    }
  }
}

TEST(CpuBackend, CopiesGoThereAndBack) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  for (const int64_t n : {0, 1, 33}) {
    auto tensor = backend->Allocate({n});
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    const std::vector<float> values = RandomValues(n, 1);
    std::vector<float> back(n);
    ASSERT_TRUE(backend->CopyFromHost(values.data(), &*tensor).ok());
    ASSERT_TRUE(backend->CopyToHost(*tensor, back.data()).ok());
    EXPECT_EQ(back, values);
  }
}

TEST(CpuBackend, TooLargeATensorIsAnErrorThatNamesIt) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  // The number of elements of the second shape overflows 64 bits to 0.
  for (const Shape& shape :
       {Shape{int64_t{1} << 41}, Shape{int64_t{1} << 32, int64_t{1} << 32}}) {
    const absl::Status status = backend->Allocate(shape).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(absl::StrContains(status.message(), ShapeString(shape)))
        << status;
  }
  EXPECT_EQ(backend->Allocate({2, -1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CpuBackend, TensorOutlivesTheBackend) {
  std::unique_ptr<Backend> backend = CpuBackendForTest();
  auto tensor = backend->Allocate({3});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  const Tensor slice = tensor->Slice(1, 3);
  *tensor = Tensor();
  backend.reset();
  EXPECT_EQ(slice.data()[1], 0);
}

TEST(CpuBackend, UsesFewerOrMoreThreads) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest(2);
  ThreadPool* const threads = &backend->sparse().host_threads();
  for (const int number : {3, 1, 2}) {
    backend->UseThreads(number);
    EXPECT_EQ(threads->num_threads(), number);
    std::atomic<int64_t> sum{0};
    threads->ParallelFor(
        10, 1, [&sum](const ChunkRange& chunk) { sum += chunk.begin; });
    EXPECT_EQ(sum, 45);
  }
}

TEST(CpuBackend, NeedsAThread) {
  CpuBackendOptions options;
  options.num_threads = 0;
  EXPECT_EQ(NewCpuBackend(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps
