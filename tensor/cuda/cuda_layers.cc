#include "tensor/cuda/cuda_layers.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_backend.h"
#include "tensor/cuda/cuda_info.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/cuda_support.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"

namespace ps {
namespace {

absl::StatusOr<CudaLayers> NewLayers(
    CudaNnOptions options, const CudaStreams& streams,
    const std::shared_ptr<MemoryRegion>& memory) {
  options.device_ordinal = streams.device();
  options.stream = streams.compute();
  options.allocate =
      [memory](int64_t size_bytes) -> absl::StatusOr<std::shared_ptr<void>> {
    PS_ASSIGN_OR_RETURN(
        void* const piece,
        memory->Allocate(size_bytes,
                         absl::StrCat(size_bytes, " bytes for a layer")));
    return std::shared_ptr<void>(
        piece, [memory](void* freed) { memory->Free(freed); });
  };
  PS_ASSIGN_OR_RETURN(std::shared_ptr<LayerDevice> device,
                      LayerDevice::Create(options));
  CudaLayers layers;
  layers.memory_version = [device] { return device->scratch_version(); };
  layers.nn = std::make_unique<CudaNnKernels>(device);
  layers.sequences =
      std::make_unique<CudaSequenceKernels>(device, /*host_threads=*/1);
  return layers;
}

[[maybe_unused]] const bool kIsRegistered =
    RegisterCudaSupport({CUDART_VERSION, CudaDeviceCount, CudaSelfCheck,
                         CudaLayersOfThisBuild, NewCudaBackend});

}  // namespace

CudaLayerFactory CudaLayersOfThisBuild(const CudaNnOptions& options) {
  return [options](const CudaStreams& streams,
                   const std::shared_ptr<MemoryRegion>& memory) {
    return NewLayers(options, streams, memory);
  };
}

}  // namespace ps
