#include "tensor/cuda/layer_device/layer_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/layer_device/cublas_products.h"
#include "tensor/cuda/libraries/cublas_functions.h"
#include "tensor/cuda/libraries/cudnn_functions.h"

namespace ps {
namespace {

// NVIDIA's recommendation for Hopper ("cuBLAS library", 2.1.8,
// cublasSetWorkspace).
constexpr int64_t kCublasWorkspaceBytes = int64_t{32} << 20;

}  // namespace

LayerDevice::LayerDevice(const CudaNnOptions& options)
    : options_(options), stream_(static_cast<cudaStream_t>(options.stream)) {}

// The members destroyed after this need the device to be current.
LayerDevice::~LayerDevice() { MakeCurrent().IgnoreError(); }

absl::StatusOr<std::unique_ptr<LayerDevice>> LayerDevice::Create(
    const CudaNnOptions& options) {
  auto device = absl::WrapUnique(new LayerDevice(options));
  PS_RETURN_IF_ERROR(device->Start());
  return device;
}

absl::Status LayerDevice::Start() {
  int count = 0;
  PS_RETURN_IF_ERROR(
      ToStatus(cudaGetDeviceCount(&count), "cudaGetDeviceCount"));
  if (options_.device_ordinal < 0 || options_.device_ordinal >= count) {
    return absl::UnavailableError(absl::StrCat("there is no CUDA device ",
                                               options_.device_ordinal,
                                               "; the machine has ", count));
  }
  PS_RETURN_IF_ERROR(MakeCurrent());
  PS_ASSIGN_OR_RETURN(const CublasFunctions cublas, LoadCublas());
  PS_ASSIGN_OR_RETURN(cublas_workspace_, Allocate(kCublasWorkspaceBytes));
  CublasOptions cublas_options;
  cublas_options.stream = stream_;
  cublas_options.deterministic = options_.deterministic;
  cublas_options.allow_tf32 = precision() == Precision::kTf32;
  cublas_options.workspace = cublas_workspace_.get();
  cublas_options.workspace_bytes = kCublasWorkspaceBytes;
  PS_ASSIGN_OR_RETURN(products_,
                      CublasProducts::Create(cublas, cublas_options));
  cudnn_ = NewCudnnHandle(stream_);
  return absl::OkStatus();
}

absl::Status LayerDevice::MakeCurrent() const {
  return ToStatus(cudaSetDevice(options_.device_ordinal), "cudaSetDevice");
}

absl::Status LayerDevice::LaunchStatus(absl::string_view kernel) const {
  return ToStatus(cudaGetLastError(), absl::StrCat("kernel ", kernel));
}

absl::StatusOr<std::shared_ptr<void>> LayerDevice::Allocate(
    int64_t size_bytes) {
  PS_RETURN_IF_ERROR(MakeCurrent());
  const int64_t size = std::max<int64_t>(size_bytes, 1);
  PS_ASSIGN_OR_RETURN(
      std::shared_ptr<void> memory,
      options_.allocate ? options_.allocate(size) : AllocateOfCuda(size));
  PS_RETURN_IF_ERROR(Zero(size, memory.get()));
  return memory;
}

absl::StatusOr<std::shared_ptr<void>> LayerDevice::AllocateOfCuda(
    int64_t size) const {
  void* data = nullptr;
  PS_RETURN_IF_ERROR(ToStatus(cudaMalloc(&data, static_cast<size_t>(size)),
                              absl::StrCat("cudaMalloc of ", size, " bytes")));
  // Nothing useful can be done about an error of cudaFree here.
  return std::shared_ptr<void>(
      data, [ordinal = options_.device_ordinal](void* freed) {
        if (cudaSetDevice(ordinal) == cudaSuccess) cudaFree(freed);
      });
}

absl::StatusOr<std::shared_ptr<void>> LayerDevice::AllocateHost(
    int64_t size_bytes) {
  PS_RETURN_IF_ERROR(MakeCurrent());
  const size_t size = static_cast<size_t>(std::max<int64_t>(size_bytes, 1));
  void* data = nullptr;
  PS_RETURN_IF_ERROR(
      ToStatus(cudaMallocHost(&data, size),
               absl::StrCat("cudaMallocHost of ", size, " bytes")));
  return std::shared_ptr<void>(data, [stream = stream_](void* freed) {
    // After an error there may still be queued copies that nobody has waited
    // for.
    cudaStreamSynchronize(stream);
    cudaFreeHost(freed);
  });
}

absl::Status LayerDevice::CopyFromHost(const void* host, int64_t size_bytes,
                                       void* device) {
  return CopyAsync(host, size_bytes, device, cudaMemcpyHostToDevice);
}

absl::Status LayerDevice::CopyToHost(const void* device, int64_t size_bytes,
                                     void* host) {
  PS_RETURN_IF_ERROR(
      CopyAsync(device, size_bytes, host, cudaMemcpyDeviceToHost));
  return ToStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

absl::Status LayerDevice::Copy(const void* from, int64_t size_bytes, void* to) {
  return CopyAsync(from, size_bytes, to, cudaMemcpyDeviceToDevice);
}

absl::Status LayerDevice::CopyAsync(const void* from, int64_t size_bytes,
                                    void* to, cudaMemcpyKind kind) const {
  PS_RETURN_IF_ERROR(MakeCurrent());
  return ToStatus(
      cudaMemcpyAsync(to, from, static_cast<size_t>(size_bytes), kind, stream_),
      "cudaMemcpyAsync");
}

absl::Status LayerDevice::Zero(int64_t size_bytes, void* data) {
  PS_RETURN_IF_ERROR(MakeCurrent());
  return ToStatus(
      cudaMemsetAsync(data, 0, static_cast<size_t>(size_bytes), stream_),
      "cudaMemsetAsync");
}

absl::Status LayerDevice::Multiply(const MatrixProduct& product) {
  PS_RETURN_IF_ERROR(MakeCurrent());
  return products_->Multiply(product);
}

absl::Status LayerDevice::ToStatus(cudaError_t error,
                                   absl::string_view call) const {
  return CudaToStatus(
      error, absl::StrCat(call, " on CUDA device ", options_.device_ordinal));
}

absl::Status LayerDevice::ReserveScratch(int64_t size_bytes) {
  if (size_bytes <= scratch_bytes_) return absl::OkStatus();
  ++scratch_version_;
  // Frees the old memory first, so that the two need not fit together.
  scratch_.reset();
  scratch_bytes_ = 0;
  PS_ASSIGN_OR_RETURN(scratch_, Allocate(size_bytes));
  scratch_bytes_ = size_bytes;
  return absl::OkStatus();
}

absl::Status AppendBytes(LayerDevice* device,
                         const std::vector<DeviceBytes>& from, bool is_zero,
                         std::string* bytes) {
  for (const DeviceBytes& part : from) {
    const auto size = static_cast<size_t>(part.size_bytes);
    if (is_zero) {
      bytes->append(size, '\0');
      continue;
    }
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<void> host,
                        device->AllocateHost(part.size_bytes));
    PS_RETURN_IF_ERROR(
        device->CopyToHost(part.data, part.size_bytes, host.get()));
    bytes->append(static_cast<const char*>(host.get()), size);
  }
  return absl::OkStatus();
}

absl::Status TakeBytes(LayerDevice* device, const std::vector<DeviceBytes>& to,
                       absl::string_view* bytes) {
  for (const DeviceBytes& part : to) {
    const auto size = static_cast<size_t>(part.size_bytes);
    if (bytes->size() < size) {
      return absl::DataLossError(absl::StrCat(
          "saved state ends ", size - bytes->size(), " bytes too early"));
    }
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<void> host,
                        device->AllocateHost(part.size_bytes));
    std::memcpy(host.get(), bytes->data(), size);
    bytes->remove_prefix(size);
    PS_RETURN_IF_ERROR(
        device->CopyFromHost(host.get(), part.size_bytes, part.data));
    // The memory is used until the device has copied it.
    char last;
    PS_RETURN_IF_ERROR(device->CopyToHost(part.data, 1, &last));
  }
  return absl::OkStatus();
}

}  // namespace ps
