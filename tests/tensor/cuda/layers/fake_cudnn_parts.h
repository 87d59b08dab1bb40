// What the parts of the fake cuDNN share.
#ifndef TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_PARTS_H_
#define TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_PARTS_H_

#include <cstdint>
#include <functional>

#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/cuda/layers/fake_cudnn.h"

namespace ps {
namespace fake_cudnn {

struct Tensor4 {
  int n, c, h, w;
  cudnnDataType_t type;
  cudnnTensorFormat_t format;

  // The position of an element, by its number in the order n, c, h, w.
  int64_t Place(int64_t i) const {
    if (format == CUDNN_TENSOR_NCHW) return i;
    const int64_t pixels = int64_t{h} * w;
    const int64_t pixel = i % pixels, channel = i / pixels % c;
    return (i / (pixels * c) * pixels + pixel) * c + channel;
  }
  float Load(const void* data, int64_t i) const {
    if (type == CUDNN_DATA_FLOAT) {
      return static_cast<const float*>(data)[Place(i)];
    }
    return static_cast<const Bfloat16*>(data)[Place(i)];
  }
  void Store(float value, int64_t i, void* data) const {
    if (type == CUDNN_DATA_FLOAT) {
      static_cast<float*>(data)[Place(i)] = value;
    } else {
      static_cast<Bfloat16*>(data)[Place(i)] = value;
    }
  }
};

extern FakeCudnn* fake;  // The one that exists, or null.

struct Handle {
  cudaStream_t stream = nullptr;
};

template <typename Struct, typename Descriptor>
Struct& As(Descriptor descriptor) {
  return *reinterpret_cast<Struct*>(
      const_cast<void*>(static_cast<const void*>(descriptor)));
}

inline cudnnStatus_t Call(const char* name) {
  return fake->failing == name ? fake->failure : CUDNN_STATUS_SUCCESS;
}

template <typename Struct, typename Descriptor>
cudnnStatus_t Create(Descriptor* descriptor) {
  *descriptor = reinterpret_cast<Descriptor>(new Struct());
  ++fake->num_descriptors;
  return CUDNN_STATUS_SUCCESS;
}
template <typename Struct, typename Descriptor>
cudnnStatus_t Destroy(Descriptor descriptor) {
  delete &As<Struct>(descriptor);
  --fake->num_descriptors;
  return CUDNN_STATUS_SUCCESS;
}

// Runs the work in the order of the handle's stream.
inline cudnnStatus_t Queue(cudnnHandle_t handle, const char* name,
                           const std::function<void()>& work) {
  if (fake->queue == nullptr) {
    work();
    return Call(name);
  }
  const cudnnStatus_t queued = fake->queue(As<Handle>(handle).stream, work);
  return queued == CUDNN_STATUS_SUCCESS ? Call(name) : queued;
}

// In fake_cudnn_recurrent.cc.
void AddRecurrentFunctions(CudnnFunctions* functions);

}  // namespace fake_cudnn
}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_PARTS_H_
