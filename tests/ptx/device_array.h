// An array on the device, for the tests of this folder.
#ifndef TESTS_PTX_DEVICE_ARRAY_H_
#define TESTS_PTX_DEVICE_ARRAY_H_

#include <cuda_runtime_api.h>

#include <vector>

#include "gtest/gtest.h"

namespace ptx {

// Each calls the runtime, which must not fail.
inline cudaStream_t TestStream() {
  static cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
              cudaSuccess);
    return made;
  }();
  return stream;
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(data_, values.data(), size_ * sizeof(T),
                              cudaMemcpyHostToDevice, TestStream()),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(TestStream()), cudaSuccess);
  }
  explicit DeviceArray(size_t size) : DeviceArray(std::vector<T>(size)) {}
  ~DeviceArray() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return static_cast<T*>(data_); }

  // Waits for the stream.
  std::vector<T> Get() {
    std::vector<T> values(size_);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), data_, size_ * sizeof(T),
                              cudaMemcpyDeviceToHost, TestStream()),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(TestStream()), cudaSuccess);
    return values;
  }

 private:
  const size_t size_;
  void* data_ = nullptr;
};

}  // namespace ptx

#endif  // TESTS_PTX_DEVICE_ARRAY_H_
