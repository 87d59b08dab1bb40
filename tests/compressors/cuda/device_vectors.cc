#include "tests/compressors/cuda/device_vectors.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "tests/tensor/backends_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {

void DeviceVectorsTest::SetUp() {
  PS_REQUIRE_DEVICE();
  auto backend = NewBackendForTest("cuda");
  ASSERT_TRUE(backend.ok()) << backend.status();
  backend_ = *std::move(backend);
}

Tensor DeviceVectorsTest::Put(const std::vector<float>& values) {
  Tensor tensor =
      backend_->Allocate({static_cast<int64_t>(values.size())}).value();
  EXPECT_TRUE(backend_->CopyFromHost(values.data(), &tensor).ok());
  return tensor;
}

std::vector<float> DeviceVectorsTest::Get(const Tensor& tensor) {
  std::vector<float> values(tensor.size());
  EXPECT_TRUE(backend_->CopyToHost(tensor, values.data()).ok());
  return values;
}

Selection DeviceVectorsTest::Get(const DeviceSelection& selection) {
  Selection host;
  host.values = Get(Tensor::View(selection.values, {selection.count}));
  // Indices are words of four bytes, like floats.
  const std::vector<float> words = Get(Tensor::View(
      reinterpret_cast<float*>(const_cast<uint32_t*>(selection.indices)),
      {selection.count}));
  if (words.empty()) return host;
  host.indices.resize(words.size());
  std::memcpy(host.indices.data(), words.data(),
              words.size() * sizeof(uint32_t));
  return host;
}

std::vector<float> AddUp(const std::vector<float>& residual,
                         const std::vector<float>& gradient) {
  std::vector<float> u = gradient;
  for (size_t i = 0; i < residual.size(); ++i) u[i] = residual[i] + gradient[i];
  return u;
}

}  // namespace ps
