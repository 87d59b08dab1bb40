#include "tensor/cuda/layer_device/cuda_layer_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/layer_device/launch_kernel.h"
#include "tensor/cuda/layer_device/sort_keys.h"
#include "tensor/cuda/libraries/cublas_functions.h"
#include "tensor/cuda/libraries/cublas_lt_functions.h"
#include "tensor/cuda/libraries/cublas_lt_products.h"
#include "tensor/cuda/libraries/cublas_products.h"
#include "tensor/cuda/libraries/event_timer.h"
#include "tensor/cuda/libraries/trials.h"
#ifdef PS_HAVE_CUDNN
#include "tensor/cuda/libraries/cudnn_convolution.h"
#include "tensor/cuda/libraries/cudnn_handle.h"
#include "tensor/cuda/libraries/cudnn_recurrent.h"
#endif

namespace ps {
namespace {

// NVIDIA's recommendation for Hopper ("cuBLAS library", 2.1.8,
// cublasSetWorkspace).
constexpr int64_t kCublasWorkspaceBytes = int64_t{32} << 20;

class CudaLayerDevice final : public LayerDevice {
 public:
  explicit CudaLayerDevice(const CudaNnOptions& options)
      : LayerDevice(options.precision),
        options_(options),
        stream_(static_cast<cudaStream_t>(options.stream)),
        trials_(NewEventTimer(stream_)) {}

  // The members destroyed after this need the device to be current.
  ~CudaLayerDevice() override { UseDevice().IgnoreError(); }

  absl::Status Start() {
    int count = 0;
    PS_RETURN_IF_ERROR(
        ToStatus(cudaGetDeviceCount(&count), "cudaGetDeviceCount"));
    if (options_.device_ordinal < 0 || options_.device_ordinal >= count) {
      return absl::UnavailableError(absl::StrCat("there is no CUDA device ",
                                                 options_.device_ordinal,
                                                 "; the machine has ", count));
    }
    PS_RETURN_IF_ERROR(UseDevice());
    PS_ASSIGN_OR_RETURN(const CublasFunctions cublas, LoadCublas());
    PS_ASSIGN_OR_RETURN(cublas_workspace_, Allocate(kCublasWorkspaceBytes));
    CublasOptions cublas_options;
    cublas_options.stream = stream_;
    cublas_options.deterministic = options_.deterministic;
    cublas_options.allow_tf32 = options_.precision == Precision::kTf32;
    cublas_options.workspace = cublas_workspace_.get();
    cublas_options.workspace_bytes = kCublasWorkspaceBytes;
    PS_ASSIGN_OR_RETURN(products_,
                        CublasProducts::Create(cublas, cublas_options));
    PS_RETURN_IF_ERROR(StartCublasLt());
#ifdef PS_HAVE_CUDNN
    if (options_.use_cudnn) {
      absl::StatusOr<std::shared_ptr<CudnnHandle>> cudnn =
          NewCudnnHandle(stream_);
      if (cudnn.ok()) {
        cudnn_ = *std::move(cudnn);
      } else {
        DoWithoutCudnn(cudnn.status());
      }
    }
#endif
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t size_bytes) override {
    PS_RETURN_IF_ERROR(UseDevice());
    const int64_t size = std::max<int64_t>(size_bytes, 1);
    PS_ASSIGN_OR_RETURN(
        std::shared_ptr<void> memory,
        options_.allocate ? options_.allocate(size) : AllocateOfCuda(size));
    PS_RETURN_IF_ERROR(Zero(size, memory.get()));
    return memory;
  }

  absl::StatusOr<std::shared_ptr<void>> AllocateHost(
      int64_t size_bytes) override {
    PS_RETURN_IF_ERROR(UseDevice());
    const size_t size = static_cast<size_t>(std::max<int64_t>(size_bytes, 1));
    void* data = nullptr;
    PS_RETURN_IF_ERROR(
        ToStatus(cudaMallocHost(&data, size),
                 absl::StrCat("cudaMallocHost of ", size, " bytes")));
    return std::shared_ptr<void>(data, [stream = stream_](void* freed) {
      // After an error there may still be queued copies that nobody has
      // waited for.
      cudaStreamSynchronize(stream);
      cudaFreeHost(freed);
    });
  }

  absl::Status CopyFromHost(const void* host, int64_t size_bytes,
                            void* device) override {
    return CopyAsync(host, size_bytes, device, cudaMemcpyHostToDevice);
  }

  absl::Status CopyToHost(const void* device, int64_t size_bytes,
                          void* host) override {
    PS_RETURN_IF_ERROR(
        CopyAsync(device, size_bytes, host, cudaMemcpyDeviceToHost));
    return ToStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  absl::Status Copy(const void* from, int64_t size_bytes, void* to) override {
    return CopyAsync(from, size_bytes, to, cudaMemcpyDeviceToDevice);
  }

  absl::Status Zero(int64_t size_bytes, void* data) override {
    PS_RETURN_IF_ERROR(UseDevice());
    return ToStatus(
        cudaMemsetAsync(data, 0, static_cast<size_t>(size_bytes), stream_),
        "cudaMemsetAsync");
  }

  absl::Status Multiply(const MatrixProduct& product) override {
    PS_RETURN_IF_ERROR(UseDevice());
    return products_->Multiply(product);
  }

  absl::StatusOr<std::unique_ptr<FusedProduct>> PlanFusedProduct(
      const MatrixProduct& product, Epilogue epilogue) override {
    if (fused_products_ == nullptr) return std::unique_ptr<FusedProduct>();
    PS_RETURN_IF_ERROR(UseDevice());
    PS_ASSIGN_OR_RETURN(std::unique_ptr<FusedProduct> planned,
                        fused_products_->Plan(this, product, epilogue));
    if (planned == nullptr) return planned;
    return std::make_unique<ProductOfDevice>(this, std::move(planned));
  }

  absl::StatusOr<int64_t> SortScratchBytes(int64_t n) override {
    PS_RETURN_IF_ERROR(UseDevice());
    size_t size = 0;
    PS_RETURN_IF_ERROR(
        ToStatus(SortKeysOnDevice(nullptr, n, nullptr, nullptr, &size, stream_),
                 "cub::DeviceRadixSort"));
    return static_cast<int64_t>(size);
  }

  absl::Status Sort(const uint64_t* keys, int64_t n,
                    uint64_t* sorted) override {
    PS_ASSIGN_OR_RETURN(const int64_t needed, SortScratchBytes(n));
    size_t size = static_cast<size_t>(needed);
    return ToStatus(
        SortKeysOnDevice(keys, n, sorted, scratch(), &size, stream_),
        "cub::DeviceRadixSort");
  }

  absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanConvolution(
      const ConvolutionGeometry& geometry) override {
#ifdef PS_HAVE_CUDNN
    if (cudnn_ != nullptr) {
      PS_RETURN_IF_ERROR(UseDevice());
      CudnnConvolutionOptions cudnn_options;
      cudnn_options.deterministic = options_.deterministic;
      cudnn_options.trials = &trials_;
      cudnn_options.allow_tf32 = options_.precision == Precision::kTf32;
      auto convolution =
          PlanCudnnConvolution(this, cudnn_, cudnn_options, geometry);
      if (convolution.ok()) {
        return std::make_unique<ConvolutionOfDevice>(this,
                                                     *std::move(convolution));
      }
      if (absl::IsUnavailable(convolution.status())) {
        DoWithoutCudnn(convolution.status());
      } else if (!absl::IsUnimplemented(convolution.status())) {
        return convolution;
      }
    }
#endif
    static_cast<void>(geometry);
    return std::unique_ptr<LibraryConvolution>();
  }

  absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) override {
    if (!options_.cudnn_recurrent) return std::unique_ptr<RecurrentOp>();
#ifdef PS_HAVE_CUDNN
    if (cudnn_ != nullptr) {
      PS_RETURN_IF_ERROR(UseDevice());
      return PlanCudnnRecurrent(this, cudnn_, shape, input);
    }
#endif
    static_cast<void>(shape);
    static_cast<void>(input);
    return absl::FailedPreconditionError(
        absl::StrCat("recurrent layers by cuDNN: ", why_no_cudnn_));
  }

 protected:
  absl::Status Launch(const KernelCall& call) override {
    PS_RETURN_IF_ERROR(UseDevice());
    return ToStatus(static_cast<cudaError_t>(LaunchKernel(
                        call.kernel, call.core, call.count, stream_)),
                    absl::StrCat("kernel ", call.name));
  }

 private:
  // Multiplies on this device, whichever device the thread used before.
  class ProductOfDevice final : public FusedProduct {
   public:
    ProductOfDevice(const CudaLayerDevice* device,
                    std::unique_ptr<FusedProduct> product)
        : device_(device), product_(std::move(product)) {}

    bool Takes(const FusedOperands& operands) const override {
      return product_->Takes(operands);
    }
    absl::Status Multiply(const FusedOperands& operands) override {
      PS_RETURN_IF_ERROR(device_->UseDevice());
      return product_->Multiply(operands);
    }

   private:
    const CudaLayerDevice* const device_;  // Not owned.
    const std::unique_ptr<FusedProduct> product_;
  };

  // Works on this device, whichever device the thread used before.
  class ConvolutionOfDevice final : public LibraryConvolution {
   public:
    ConvolutionOfDevice(const CudaLayerDevice* device,
                        std::unique_ptr<LibraryConvolution> convolution)
        : device_(device), convolution_(std::move(convolution)) {}

    bool Computes(ConvolutionPass pass) const override {
      return convolution_->Computes(pass);
    }
    absl::Status Forward(const void* x, const void* weight, void* y) override {
      PS_RETURN_IF_ERROR(device_->UseDevice());
      return convolution_->Forward(x, weight, y);
    }
    absl::Status BackwardData(const void* weight, const void* dy,
                              void* dx) override {
      PS_RETURN_IF_ERROR(device_->UseDevice());
      return convolution_->BackwardData(weight, dy, dx);
    }
    absl::Status BackwardWeights(const void* x, const void* dy,
                                 float* dweight) override {
      PS_RETURN_IF_ERROR(device_->UseDevice());
      return convolution_->BackwardWeights(x, dy, dweight);
    }

   private:
    const CudaLayerDevice* const device_;  // Not owned.
    const std::unique_ptr<LibraryConvolution> convolution_;
  };

#ifdef PS_HAVE_CUDNN
  // For a cuDNN that is not there or cannot start: it loads some of its
  // libraries when the first convolution is planned.
  void DoWithoutCudnn(const absl::Status& reason) {
    LOG(WARNING) << "convolutions are products of matrices, which is slower: "
                 << reason.message();
    cudnn_ = nullptr;
    why_no_cudnn_ = std::string(reason.message());
  }
#endif

  absl::Status StartCublasLt() {
    if (!options_.use_cublas_lt) return absl::OkStatus();
    const absl::StatusOr<CublasLtFunctions> cublas_lt = LoadCublasLt();
    if (!cublas_lt.ok()) {
      LOG(INFO) << "linear layers add their biases in kernels of their own: "
                << cublas_lt.status().message();
      return absl::OkStatus();
    }
    CublasLtOptions lt_options;
    lt_options.stream = stream_;
    lt_options.deterministic = options_.deterministic;
    lt_options.trials = &trials_;
    lt_options.allow_tf32 = options_.precision == Precision::kTf32;
    PS_ASSIGN_OR_RETURN(fused_products_,
                        CublasLtProducts::Create(*cublas_lt, lt_options));
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<void>> AllocateOfCuda(int64_t size) const {
    void* data = nullptr;
    PS_RETURN_IF_ERROR(
        ToStatus(cudaMalloc(&data, static_cast<size_t>(size)),
                 absl::StrCat("cudaMalloc of ", size, " bytes")));
    // Nothing useful can be done about an error of cudaFree here.
    return std::shared_ptr<void>(
        data, [ordinal = options_.device_ordinal](void* freed) {
          if (cudaSetDevice(ordinal) == cudaSuccess) cudaFree(freed);
        });
  }

  absl::Status UseDevice() const {
    return ToStatus(cudaSetDevice(options_.device_ordinal), "cudaSetDevice");
  }

  absl::Status CopyAsync(const void* from, int64_t size_bytes, void* to,
                         cudaMemcpyKind kind) const {
    PS_RETURN_IF_ERROR(UseDevice());
    return ToStatus(cudaMemcpyAsync(to, from, static_cast<size_t>(size_bytes),
                                    kind, stream_),
                    "cudaMemcpyAsync");
  }

  // Takes errors of the runtime, or of a launcher, which uses the runtime's
  // codes.
  template <typename Error>
  absl::Status ToStatus(Error error, absl::string_view call) const {
    return CudaToStatus(
        static_cast<cudaError_t>(error),
        absl::StrCat(call, " on CUDA device ", options_.device_ordinal));
  }

  const CudaNnOptions options_;
  const cudaStream_t stream_;
  Trials trials_;
  std::shared_ptr<void> cublas_workspace_;
  std::unique_ptr<CublasProducts> products_;
  // Null if not installed or not wanted.
  std::unique_ptr<CublasLtProducts> fused_products_;
#ifdef PS_HAVE_CUDNN
  std::shared_ptr<CudnnHandle>
      cudnn_;  // Null if it cannot or must not be used.
  std::string why_no_cudnn_ = "it must not be used";
#else
  const std::string why_no_cudnn_ = "this build has no cuDNN";
#endif
};

}  // namespace

absl::StatusOr<std::unique_ptr<LayerDevice>> NewCudaLayerDevice(
    const CudaNnOptions& options) {
  auto device = std::make_unique<CudaLayerDevice>(options);
  PS_RETURN_IF_ERROR(device->Start());
  return device;
}

}  // namespace ps
