// Operations without weights, in which a thread computes one output, or the
// gradient of one input, from the elements of the other array that belong to
// it. It takes these in a fixed order, so that results do not depend on the
// order of threads.
//
// A Map says which they are. It is copied to the device, and has
//   template <typename T>
//   __device__ float Output(int64_t i, const T* x) const;
//   template <typename T>
//   __device__ float InputGradient(int64_t i, const T* dy) const;
#ifndef TENSOR_CUDA_NN_GATHER_CUH_
#define TENSOR_CUDA_NN_GATHER_CUH_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

template <typename Map, typename From, typename To>
__global__ void __launch_bounds__(kBlockThreads)
    OutputsKernel(int64_t n, const Map map, const From* x, To* y) {
  const int64_t i = GridThread();
  if (i < n) y[i] = map.Output(i, x);
}

template <typename Map, typename From, typename To>
__global__ void __launch_bounds__(kBlockThreads)
    InputGradientsKernel(int64_t n, const Map map, const From* dy, To* dx) {
  const int64_t i = GridThread();
  if (i < n) dx[i] = map.InputGradient(i, dy);
}

// All n elements of y, or of dx. An error names the kernel.
template <typename Map, typename From, typename To>
absl::Status GatherOutputs(LayerDevice* device, const std::string& name,
                           int64_t n, const Map& map, const From* x, To* y) {
  return LaunchKernel(device, name.c_str(), BlocksFor(n),
                      OutputsKernel<Map, From, To>, n, map, x, y);
}
template <typename Map, typename From, typename To>
absl::Status GatherInputGradients(LayerDevice* device, const std::string& name,
                                  int64_t n, const Map& map, const From* dy,
                                  To* dx) {
  return LaunchKernel(device, (name + "Gradient").c_str(), BlocksFor(n),
                      InputGradientsKernel<Map, From, To>, n, map, dy, dx);
}

template <typename T, typename Map>
class GatherOp final : public UnaryOp {
 public:
  GatherOp(LayerDevice* device, const char* name, int64_t num_inputs,
           ActivationDesc output, const Map& map, std::shared_ptr<void> memory)
      : device_(device),
        name_(name),
        num_inputs_(num_inputs),
        output_(std::move(output)),
        map_(map),
        memory_(std::move(memory)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    return GatherOutputs(device_, name_, NumElements(output_.shape), map_,
                         Elements<T>(x), Elements<T>(y));
  }
  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    return GatherInputGradients(device_, name_, num_inputs_, map_,
                                Elements<T>(dy), Elements<T>(dx));
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const std::string name_;
  const int64_t num_inputs_;
  const ActivationDesc output_;
  const Map map_;
  const std::shared_ptr<void> memory_;
};

// The operation, on arrays of this type. memory: what the map points to.
template <typename Map>
std::unique_ptr<UnaryOp> NewGatherOp(LayerDevice* device, Storage storage,
                                     const char* name, const Shape& input,
                                     const Shape& output, const Map& map,
                                     std::shared_ptr<void> memory = nullptr) {
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<GatherOp<decltype(element), Map>>(
        device, name, NumElements(input), CudaActivation(storage, output), map,
        memory);
  });
}

}  // namespace ps

#endif  // TENSOR_CUDA_NN_GATHER_CUH_
