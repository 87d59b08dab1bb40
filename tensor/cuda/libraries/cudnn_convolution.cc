#include "tensor/cuda/libraries/cudnn_convolution.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/nn/reorder_cores.h"

namespace ps {
namespace {

constexpr int64_t kAlignmentBytes = 256;

// cuDNN's kernels read vectors of 16 bytes. Activations have their own memory
// and are aligned, but a layer's weights can begin anywhere in the model's
// vector.
bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

// The algorithm that a pass uses.
template <typename Algorithm>
struct Choice {
  Algorithm algorithm = {};
  size_t workspace_bytes = 0;
};

// `found` is the result of cuDNN's heuristics, the best first.
// workspace_bytes(algorithm, &size) is for the math type of the descriptor,
// which may differ from an entry's own.
template <typename Algorithm, typename Performance, typename WorkspaceBytes>
absl::Status Choose(const CudnnConvolutionOptions& options,
                    const Performance* found, int num_found, const char* pass,
                    const WorkspaceBytes& workspace_bytes,
                    Choice<Algorithm>* choice) {
  for (int i = 0; i < num_found; ++i) {
    const Performance& one = found[i];
    if (one.status != CUDNN_STATUS_SUCCESS) continue;
    if (options.deterministic && one.determinism != CUDNN_DETERMINISTIC) {
      continue;
    }
    size_t size = 0;
    if (workspace_bytes(one.algo, &size) != CUDNN_STATUS_SUCCESS) continue;
    if (static_cast<int64_t>(size) > options.max_workspace_bytes) continue;
    choice->algorithm = one.algo;
    choice->workspace_bytes = size;
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      "no ", options.deterministic ? "deterministic " : "",
      "algorithm for the ", pass, " of this convolution with at most ",
      options.max_workspace_bytes >> 20, " MiB of workspace"));
}

class CudnnConvolution final : public LibraryConvolution {
 public:
  CudnnConvolution(LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
                   const CudnnConvolutionOptions& options,
                   const ConvolutionGeometry& geometry)
      : device_(device),
        handle_(std::move(handle)),
        options_(options),
        weight_bytes_(
            (geometry.num_weights() * StorageBytes(device->storage()) +
             kAlignmentBytes - 1) /
            kAlignmentBytes * kAlignmentBytes),
        geometry_(geometry) {}

  ~CudnnConvolution() override {
    // Nothing useful can be done about errors here.
    if (x_ != nullptr) cudnn().destroy_tensor(x_);
    if (y_ != nullptr) cudnn().destroy_tensor(y_);
    if (weights_ != nullptr) cudnn().destroy_filter(weights_);
    if (convolution_ != nullptr) cudnn().destroy_convolution(convolution_);
  }

  absl::Status Plan(const ConvolutionGeometry& g) {
    PS_RETURN_IF_ERROR(Describe(g));
    PS_RETURN_IF_ERROR(ChooseAlgorithms());
    const size_t workspace =
        std::max({forward_.workspace_bytes, backward_data_.workspace_bytes,
                  backward_filter_.workspace_bytes});
    return device_->ReserveScratch(weight_bytes_ +
                                   static_cast<int64_t>(workspace));
  }

  absl::Status Forward(const void* x, const void* weight, void* y) override {
    PS_RETURN_IF_ERROR(CheckAligned("Forward", x, y));
    PS_ASSIGN_OR_RETURN(weight, Aligned(weight));
    return ToStatus(
        cudnn().forward(handle_->get(), &kOne, x_, x, weights_, weight,
                        convolution_, forward_.algorithm, workspace(),
                        forward_.workspace_bytes, &kZero, y_, y),
        "cudnnConvolutionForward");
  }

  absl::Status BackwardData(const void* weight, const void* dy,
                            void* dx) override {
    PS_RETURN_IF_ERROR(CheckAligned("BackwardData", dy, dx));
    PS_ASSIGN_OR_RETURN(weight, Aligned(weight));
    return ToStatus(cudnn().backward_data(
                        handle_->get(), &kOne, weights_, weight, y_, dy,
                        convolution_, backward_data_.algorithm, workspace(),
                        backward_data_.workspace_bytes, &kZero, x_, dx),
                    "cudnnConvolutionBackwardData");
  }

  absl::Status BackwardWeights(const void* x, const void* dy,
                               float* dweight) override {
    PS_RETURN_IF_ERROR(CheckAligned("BackwardWeights", x, dy));
    // cuDNN returns a gradient in the weights' type and order.
    const bool is_bfloat16 = device_->storage() == Storage::kBfloat16;
    void* const target =
        IsAligned(dweight) && !is_bfloat16 ? dweight : device_->scratch();
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().backward_filter(handle_->get(), &kOne, x_, x, y_, dy,
                                convolution_, backward_filter_.algorithm,
                                workspace(), backward_filter_.workspace_bytes,
                                &kZero, weights_, target),
        "cudnnConvolutionBackwardFilter"));
    if (target == dweight) return absl::OkStatus();
    if (!is_bfloat16) return device_->Copy(target, num_weight_bytes_, dweight);
    PlainOrderCore<Bfloat16> core;
    core.channels = Divisor(geometry_.channels / geometry_.groups);
    core.pixels = Divisor(geometry_.kernel_height * geometry_.kernel_width);
    core.from = static_cast<const Bfloat16*>(target);
    core.to = dweight;
    return device_->Run(core, geometry_.num_weights());
  }

 private:
  static constexpr float kOne = 1;
  static constexpr float kZero = 0;

  const CudnnFunctions& cudnn() const { return handle_->functions(); }

  absl::Status ToStatus(cudnnStatus_t status, const char* call) const {
    return CudnnToStatus(cudnn(), status, call);
  }

  // The workspace comes after the space for aligned weights.
  void* workspace() const {
    return static_cast<char*>(device_->scratch()) + weight_bytes_;
  }

  // The weights, or an aligned copy of them in the scratch.
  absl::StatusOr<const void*> Aligned(const void* weight) const {
    if (IsAligned(weight)) return weight;
    PS_RETURN_IF_ERROR(
        device_->Copy(weight, num_weight_bytes_, device_->scratch()));
    return device_->scratch();
  }

  static absl::Status CheckAligned(const char* method, const void* a,
                                   const void* b) {
    if (IsAligned(a) && IsAligned(b)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("convolution by cuDNN, ", method,
                     ": an activation is not aligned to 16 bytes"));
  }

  absl::Status Describe(const ConvolutionGeometry& g) {
    for (const int64_t size :
         {g.batch * g.channels * g.pixels(),
          g.batch * g.out_channels * g.out_pixels(), g.num_weights()}) {
      if (size > std::numeric_limits<int>::max()) {
        return absl::UnimplementedError(absl::StrCat(
            "cuDNN takes arrays of at most 2^31 - 1 elements; one has ", size));
      }
    }
    num_weight_bytes_ = g.num_weights() * StorageBytes(device_->storage());
    const bool is_bfloat16 = device_->storage() == Storage::kBfloat16;
    const cudnnDataType_t type =
        is_bfloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    // For the filter this means KRSC.
    const cudnnTensorFormat_t format =
        is_bfloat16 ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const auto as_int = [](int64_t extent) { return static_cast<int>(extent); };
    PS_RETURN_IF_ERROR(
        ToStatus(cudnn().create_tensor(&x_), "cudnnCreateTensorDescriptor"));
    PS_RETURN_IF_ERROR(
        ToStatus(cudnn().create_tensor(&y_), "cudnnCreateTensorDescriptor"));
    PS_RETURN_IF_ERROR(ToStatus(cudnn().create_filter(&weights_),
                                "cudnnCreateFilterDescriptor"));
    PS_RETURN_IF_ERROR(ToStatus(cudnn().create_convolution(&convolution_),
                                "cudnnCreateConvolutionDescriptor"));
    PS_RETURN_IF_ERROR(
        ToStatus(cudnn().set_tensor(x_, format, type, as_int(g.batch),
                                    as_int(g.channels), as_int(g.height),
                                    as_int(g.width)),
                 "cudnnSetTensor4dDescriptor"));
    PS_RETURN_IF_ERROR(
        ToStatus(cudnn().set_tensor(y_, format, type, as_int(g.batch),
                                    as_int(g.out_channels),
                                    as_int(g.out_height), as_int(g.out_width)),
                 "cudnnSetTensor4dDescriptor"));
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().set_filter(weights_, type, format, as_int(g.out_channels),
                           as_int(g.channels / g.groups),
                           as_int(g.kernel_height), as_int(g.kernel_width)),
        "cudnnSetFilter4dDescriptor"));
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().set_convolution(
            convolution_, as_int(g.padding), as_int(g.padding),
            as_int(g.stride), as_int(g.stride), /*dilation_h=*/1,
            /*dilation_w=*/1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor"));
    PS_RETURN_IF_ERROR(
        ToStatus(cudnn().set_group_count(convolution_, as_int(g.groups)),
                 "cudnnSetConvolutionGroupCount"));
    // CUDNN_DEFAULT_MATH would use TF32 for floats.
    const cudnnMathType_t math = is_bfloat16           ? CUDNN_TENSOR_OP_MATH
                                 : options_.allow_tf32 ? CUDNN_DEFAULT_MATH
                                                       : CUDNN_FMA_MATH;
    return ToStatus(cudnn().set_math_type(convolution_, math),
                    "cudnnSetConvolutionMathType");
  }

  // Uses cuDNN's heuristics rather than timing: the fastest algorithm on a busy
  // device would depend on its load, and so would the bits.
  absl::Status ChooseAlgorithms() {
    constexpr int kMaxAlgorithms = 16;
    int found = 0;
    cudnnConvolutionFwdAlgoPerf_t forward[kMaxAlgorithms];
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().forward_algorithms(handle_->get(), x_, weights_, convolution_,
                                   y_, kMaxAlgorithms, &found, forward),
        "cudnnGetConvolutionForwardAlgorithm_v7"));
    PS_RETURN_IF_ERROR(Choose(
        options_, forward, found, "forward pass",
        [this](cudnnConvolutionFwdAlgo_t algorithm, size_t* size) {
          return cudnn().forward_workspace(handle_->get(), x_, weights_,
                                           convolution_, y_, algorithm, size);
        },
        &forward_));
    cudnnConvolutionBwdDataAlgoPerf_t data[kMaxAlgorithms];
    PS_RETURN_IF_ERROR(ToStatus(cudnn().backward_data_algorithms(
                                    handle_->get(), weights_, y_, convolution_,
                                    x_, kMaxAlgorithms, &found, data),
                                "cudnnGetConvolutionBackwardDataAlgorithm_v7"));
    PS_RETURN_IF_ERROR(Choose(
        options_, data, found, "input's gradient",
        [this](cudnnConvolutionBwdDataAlgo_t algorithm, size_t* size) {
          return cudnn().backward_data_workspace(
              handle_->get(), weights_, y_, convolution_, x_, algorithm, size);
        },
        &backward_data_));
    cudnnConvolutionBwdFilterAlgoPerf_t filter[kMaxAlgorithms];
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().backward_filter_algorithms(handle_->get(), x_, y_, convolution_,
                                           weights_, kMaxAlgorithms, &found,
                                           filter),
        "cudnnGetConvolutionBackwardFilterAlgorithm_v7"));
    return Choose(
        options_, filter, found, "weights' gradient",
        [this](cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* size) {
          return cudnn().backward_filter_workspace(
              handle_->get(), x_, y_, convolution_, weights_, algorithm, size);
        },
        &backward_filter_);
  }

  LayerDevice* const device_;  // Not owned.
  const std::shared_ptr<CudnnHandle> handle_;
  const CudnnConvolutionOptions options_;
  const int64_t weight_bytes_;    // Space for the weights, rounded up.
  int64_t num_weight_bytes_ = 0;  // Their exact size.
  const ConvolutionGeometry geometry_;
  cudnnTensorDescriptor_t x_ = nullptr;
  cudnnTensorDescriptor_t y_ = nullptr;
  cudnnFilterDescriptor_t weights_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  Choice<cudnnConvolutionFwdAlgo_t> forward_;
  Choice<cudnnConvolutionBwdDataAlgo_t> backward_data_;
  Choice<cudnnConvolutionBwdFilterAlgo_t> backward_filter_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<CudnnHandle>> CudnnHandle::Create(
    const CudnnFunctions& cudnn, cudaStream_t stream) {
  std::shared_ptr<CudnnHandle> handle(new CudnnHandle(cudnn));
  PS_RETURN_IF_ERROR(
      CudnnToStatus(cudnn, cudnn.create(&handle->handle_), "cudnnCreate"));
  PS_RETURN_IF_ERROR(CudnnToStatus(
      cudnn, cudnn.set_stream(handle->handle_, stream), "cudnnSetStream"));
  return handle;
}

CudnnHandle::~CudnnHandle() {
  // Nothing useful can be done about an error here.
  if (handle_ != nullptr) cudnn_.destroy(handle_);
}

absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanCudnnConvolution(
    LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
    const CudnnConvolutionOptions& options,
    const ConvolutionGeometry& geometry) {
  auto convolution = std::make_unique<CudnnConvolution>(
      device, std::move(handle), options, geometry);
  PS_RETURN_IF_ERROR(Annotate(convolution->Plan(geometry), "cuDNN"));
  return convolution;
}

}  // namespace ps
