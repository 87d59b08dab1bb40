#include "tensor/cuda/nn/cudnn_convolution.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/precision.h"

namespace ps {
namespace {

constexpr int64_t kAlignmentBytes = 256;
// Algorithms that need more of the device's scratch are not used.
constexpr int64_t kMaxWorkspaceBytes = int64_t{512} << 20;
constexpr int kMaxAlgorithms = 16;

// cuDNN's kernels read vectors of 16 bytes. Activations have their own memory
// and are aligned, but a layer's weights can begin anywhere in the model's
// vector.
bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

std::string NameOf(const ConvolutionGeometry& g) {
  return absl::StrCat(g.batch, " x ", g.channels, " x ", g.height, " x ",
                      g.width, " with ", g.out_channels, " kernels of ",
                      g.kernel_height, " x ", g.kernel_width, ", stride ",
                      g.stride, ", padding ", g.padding, ", groups ", g.groups);
}

struct Algorithm {
  int number = 0;  // Of the pass's own enumeration.
  cudnnMathType_t math = CUDNN_FMA_MATH;
  size_t workspace_bytes = 0;
};

// A pass computes the array c from a and b. Of each pass cuDNN has four
// functions, with the same parameters but for the types.
template <typename Performance, typename Number, typename A, typename B,
          typename C>
struct Pass {
  using Heuristics = cudnnStatus_t (*)(cudnnHandle_t, A, B,
                                       cudnnConvolutionDescriptor_t, C, int,
                                       int*, Performance*);
  using Find = cudnnStatus_t (*)(cudnnHandle_t, A, const void*, B, const void*,
                                 cudnnConvolutionDescriptor_t, C, void*, int,
                                 int*, Performance*, void*, size_t);
  using Workspace = cudnnStatus_t (*)(cudnnHandle_t, A, B,
                                      cudnnConvolutionDescriptor_t, C, Number,
                                      size_t*);
  using Run = cudnnStatus_t (*)(cudnnHandle_t, const void*, A, const void*, B,
                                const void*, cudnnConvolutionDescriptor_t,
                                Number, void*, size_t, const void*, C, void*);
  const char* what;
  const char* run_name;
  const char* heuristics_name;
  const char* find_name;
  Heuristics heuristics;
  Find find;
  Workspace workspace;
  Run run;
  A a;
  B b;
  C c;
};

using ForwardFunctions =
    Pass<cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t,
         cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
         cudnnTensorDescriptor_t>;
using DataFunctions =
    Pass<cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t,
         cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
         cudnnTensorDescriptor_t>;
using FilterFunctions =
    Pass<cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionBwdFilterAlgo_t,
         cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
         cudnnFilterDescriptor_t>;

class CudnnConvolution final : public ConvolutionPasses {
 public:
  CudnnConvolution(LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
                   const ConvolutionGeometry& geometry)
      : device_(device),
        handle_(std::move(handle)),
        geometry_(geometry),
        weight_bytes_(geometry.num_weights() *
                      StorageBytes(device->storage())) {}

  ~CudnnConvolution() override {
    // Nothing useful can be done about errors here.
    if (x_ != nullptr) cudnn().destroy_tensor(x_);
    if (y_ != nullptr) cudnn().destroy_tensor(y_);
    if (weights_ != nullptr) cudnn().destroy_filter(weights_);
    if (convolution_ != nullptr) cudnn().destroy_convolution(convolution_);
  }

  absl::Status Plan() {
    PS_RETURN_IF_ERROR(Describe(geometry_));
    TrialArrays on;
    PS_ASSIGN_OR_RETURN(forward_,
                        Choose(ForwardPass(), &on, &on.x, &on.weight, &on.y));
    PS_ASSIGN_OR_RETURN(backward_data_,
                        Choose(DataPass(), &on, &on.weight, &on.y, &on.x));
    PS_ASSIGN_OR_RETURN(backward_filter_,
                        Choose(FilterPass(), &on, &on.x, &on.y, &on.weight));
    size_t workspace = 0;
    for (const auto& pass : {forward_, backward_data_, backward_filter_}) {
      if (pass.has_value()) {
        workspace = std::max(workspace, pass->workspace_bytes);
      }
    }
    return device_->ReserveScratch(WorkspaceOffset() +
                                   static_cast<int64_t>(workspace));
  }

  bool Computes(ConvolutionPass pass) const override {
    switch (pass) {
      case ConvolutionPass::kForward:
        return forward_.has_value();
      case ConvolutionPass::kBackwardData:
        return backward_data_.has_value();
      case ConvolutionPass::kBackwardWeights:
        return backward_filter_.has_value();
    }
    return false;
  }

  absl::Status Forward(const void* x, const void* weight, void* y) override {
    PS_RETURN_IF_ERROR(CheckAligned("Forward", x, y));
    PS_ASSIGN_OR_RETURN(weight, Aligned(weight));
    return Run(ForwardPass(), *forward_, workspace(), x, weight, y);
  }

  absl::Status BackwardData(const void* weight, const void* dy,
                            void* dx) override {
    PS_RETURN_IF_ERROR(CheckAligned("BackwardData", dy, dx));
    PS_ASSIGN_OR_RETURN(weight, Aligned(weight));
    return Run(DataPass(), *backward_data_, workspace(), weight, dy, dx);
  }

  absl::Status BackwardWeights(const void* x, const void* dy,
                               float* dweight) override {
    PS_RETURN_IF_ERROR(CheckAligned("BackwardWeights", x, dy));
    // cuDNN returns a gradient in the weights' type and order.
    const bool is_bfloat16 = device_->storage() == Storage::kBfloat16;
    void* const target =
        IsAligned(dweight) && !is_bfloat16 ? dweight : device_->scratch();
    PS_RETURN_IF_ERROR(
        Run(FilterPass(), *backward_filter_, workspace(), x, dy, target));
    if (target == dweight) return absl::OkStatus();
    if (!is_bfloat16) return device_->Copy(target, weight_bytes_, dweight);
    return ToPlainOrder(device_,
                        {geometry_.num_weights(), geometry_.group_channels(),
                         geometry_.kernel_pixels()},
                        static_cast<const Bfloat16*>(target), dweight);
  }

 private:
  // cuDNN's arrays while algorithms are tried, zeroed.
  struct TrialArrays {
    std::shared_ptr<void> x, weight, y, workspace;
    size_t workspace_bytes = 0;
  };

  const CudnnFunctions& cudnn() const { return handle_->functions(); }

  absl::Status ToStatus(cudnnStatus_t status, const char* call) const {
    return CudnnToStatus(cudnn(), status, call);
  }

  ForwardFunctions ForwardPass() const {
    return {"forward pass",
            "cudnnConvolutionForward",
            "cudnnGetConvolutionForwardAlgorithm_v7",
            "cudnnFindConvolutionForwardAlgorithmEx",
            cudnn().forward_algorithms,
            cudnn().find_forward,
            cudnn().forward_workspace,
            cudnn().forward,
            x_,
            weights_,
            y_};
  }
  DataFunctions DataPass() const {
    return {"input's gradient",
            "cudnnConvolutionBackwardData",
            "cudnnGetConvolutionBackwardDataAlgorithm_v7",
            "cudnnFindConvolutionBackwardDataAlgorithmEx",
            cudnn().backward_data_algorithms,
            cudnn().find_backward_data,
            cudnn().backward_data_workspace,
            cudnn().backward_data,
            weights_,
            y_,
            x_};
  }
  FilterFunctions FilterPass() const {
    return {"weights' gradient",
            "cudnnConvolutionBackwardFilter",
            "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
            "cudnnFindConvolutionBackwardFilterAlgorithmEx",
            cudnn().backward_filter_algorithms,
            cudnn().find_backward_filter,
            cudnn().backward_filter_workspace,
            cudnn().backward_filter,
            x_,
            y_,
            weights_};
  }

  template <typename Performance, typename Number, typename... Descriptors>
  absl::Status Run(const Pass<Performance, Number, Descriptors...>& pass,
                   const Algorithm& algorithm, void* workspace, const void* a,
                   const void* b, void* c) const {
    constexpr float kOne = 1, kZero = 0;
    PS_RETURN_IF_ERROR(device_->MakeCurrent());
    PS_RETURN_IF_ERROR(SetMath(algorithm.math));
    return ToStatus(
        pass.run(handle_->get(), &kOne, pass.a, a, pass.b, b, convolution_,
                 static_cast<Number>(algorithm.number), workspace,
                 algorithm.workspace_bytes, &kZero, pass.c, c),
        pass.run_name);
  }

  // The workspace comes after the space for aligned weights.
  int64_t WorkspaceOffset() const {
    return (weight_bytes_ + kAlignmentBytes - 1) / kAlignmentBytes *
           kAlignmentBytes;
  }
  void* workspace() const {
    return static_cast<char*>(device_->scratch()) + WorkspaceOffset();
  }

  // The weights, or an aligned copy of them in the scratch.
  absl::StatusOr<const void*> Aligned(const void* weight) const {
    if (IsAligned(weight)) return weight;
    PS_RETURN_IF_ERROR(
        device_->Copy(weight, weight_bytes_, device_->scratch()));
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
                           as_int(g.group_channels()), as_int(g.kernel_height),
                           as_int(g.kernel_width)),
        "cudnnSetFilter4dDescriptor"));
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().set_convolution(
            convolution_, as_int(g.padding), as_int(g.padding),
            as_int(g.stride), as_int(g.stride), /*dilation_h=*/1,
            /*dilation_w=*/1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor"));
    return ToStatus(cudnn().set_group_count(convolution_, as_int(g.groups)),
                    "cudnnSetConvolutionGroupCount");
  }

  // The math for which the heuristics rank algorithms. CUDNN_DEFAULT_MATH would
  // use TF32 for floats.
  cudnnMathType_t AllowedMath() const {
    return device_->storage() == Storage::kBfloat16   ? CUDNN_TENSOR_OP_MATH
           : device_->precision() == Precision::kTf32 ? CUDNN_DEFAULT_MATH
                                                      : CUDNN_FMA_MATH;
  }

  absl::Status SetMath(cudnnMathType_t math) const {
    return ToStatus(cudnn().set_math_type(convolution_, math),
                    "cudnnSetConvolutionMathType");
  }

  bool deterministic() const { return device_->options().deterministic; }

  // Those of the algorithms that meet the options, in the same order.
  template <typename Performance, typename Number, typename... Descriptors>
  absl::StatusOr<std::vector<Algorithm>> Suitable(
      const Pass<Performance, Number, Descriptors...>& pass,
      const Performance* found, int num_found) const {
    std::vector<Algorithm> suitable;
    for (const Performance* one = found; one < found + num_found; ++one) {
      if (one->status != CUDNN_STATUS_SUCCESS) continue;
      if (deterministic() && one->determinism != CUDNN_DETERMINISTIC) continue;
      Algorithm algorithm;
      algorithm.number = one->algo;
      algorithm.math =
          AllowedMath() == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : one->mathType;
      PS_RETURN_IF_ERROR(SetMath(algorithm.math));
      if (pass.workspace(handle_->get(), pass.a, pass.b, convolution_, pass.c,
                         one->algo,
                         &algorithm.workspace_bytes) != CUDNN_STATUS_SUCCESS) {
        continue;
      }
      if (static_cast<int64_t>(algorithm.workspace_bytes) <=
          kMaxWorkspaceBytes) {
        suitable.push_back(algorithm);
      }
    }
    return suitable;
  }

  // Suitable algorithms, in the order of the heuristics: the best first.
  template <typename Performance, typename Number, typename... Descriptors>
  absl::StatusOr<std::vector<Algorithm>> Proposed(
      const Pass<Performance, Number, Descriptors...>& pass) const {
    Performance found[kMaxAlgorithms];
    int num_found = 0;
    PS_RETURN_IF_ERROR(SetMath(AllowedMath()));
    PS_RETURN_IF_ERROR(
        ToStatus(pass.heuristics(handle_->get(), pass.a, pass.b, convolution_,
                                 pass.c, kMaxAlgorithms, &num_found, found),
                 pass.heuristics_name));
    return Suitable(pass, found, num_found);
  }

  // Suitable algorithms, in the order of the times that cuDNN measures.
  template <typename Performance, typename Number, typename... Descriptors>
  absl::StatusOr<std::vector<Algorithm>> Timed(
      const Pass<Performance, Number, Descriptors...>& pass,
      const std::string& work, const TrialArrays& arrays, const void* a,
      const void* b, void* c) const {
    Performance found[kMaxAlgorithms];
    int num_found = 0;
    PS_RETURN_IF_ERROR(SetMath(AllowedMath()));
    PS_RETURN_IF_ERROR(
        ToStatus(pass.find(handle_->get(), pass.a, a, pass.b, b, convolution_,
                           pass.c, c, kMaxAlgorithms, &num_found, found,
                           arrays.workspace.get(), arrays.workspace_bytes),
                 pass.find_name));
    // cuDNN also measures with the default math, which may round factors.
    if (AllowedMath() == CUDNN_FMA_MATH) {
      std::stable_partition(found, found + num_found,
                            [](const Performance& one) {
                              return one.mathType == CUDNN_FMA_MATH;
                            });
    }
    if (num_found > 0 && found[0].status == CUDNN_STATUS_SUCCESS) {
      LOG(INFO) << work << ": algorithm " << found[0].algo
                << " is the fastest with " << found[0].time << " ms";
    }
    return Suitable(pass, found, num_found);
  }

  // The first algorithm that runs: the fastest where bits may vary, otherwise
  // in the heuristics' order, since which one is the fastest on a busy device
  // depends on its load, and so would the bits. The heuristics also propose
  // algorithms that fail. None if there is no algorithm.
  template <typename Pass>
  absl::StatusOr<std::optional<Algorithm>> Choose(
      const Pass& pass, TrialArrays* arrays, const std::shared_ptr<void>* a,
      const std::shared_ptr<void>* b, const std::shared_ptr<void>* c) const {
    const std::string work = absl::StrCat(
        "the ", pass.what, " of a convolution of ", NameOf(geometry_));
    PS_ASSIGN_OR_RETURN(std::vector<Algorithm> algorithms, Proposed(pass));
    if (!deterministic() && algorithms.size() > 1) {
      size_t workspace_bytes = 0;
      for (const Algorithm& one : algorithms) {
        workspace_bytes = std::max(workspace_bytes, one.workspace_bytes);
      }
      const absl::Status room = Allocate(workspace_bytes, arrays);
      if (room.ok()) {
        PS_ASSIGN_OR_RETURN(algorithms, Timed(pass, work, *arrays, a->get(),
                                              b->get(), c->get()));
      } else if (!absl::IsResourceExhausted(room)) {
        return room;
      }
    }
    for (const Algorithm& algorithm : algorithms) {
      absl::Status status = Allocate(algorithm.workspace_bytes, arrays);
      if (status.ok()) {
        status = Run(pass, algorithm, arrays->workspace.get(), a->get(),
                     b->get(), c->get());
      }
      // Without memory to try it, it is taken untried.
      if (status.ok() || absl::IsResourceExhausted(status)) return algorithm;
      if (absl::IsUnavailable(status)) return status;
      LOG(INFO) << "algorithm " << algorithm.number << " for " << work
                << " fails: " << status.message();
    }
    LOG(INFO) << "cuDNN has no " << (deterministic() ? "deterministic " : "")
              << "algorithm with at most " << (kMaxWorkspaceBytes >> 20)
              << " MiB of workspace for " << work
              << ", which products of matrices compute";
    return std::nullopt;
  }

  // Makes room for trials.
  absl::Status Allocate(size_t workspace_bytes, TrialArrays* arrays) const {
    if (arrays->x == nullptr) {
      const int64_t element = StorageBytes(device_->storage());
      const ConvolutionGeometry& g = geometry_;
      PS_ASSIGN_OR_RETURN(arrays->weight, device_->Allocate(weight_bytes_));
      PS_ASSIGN_OR_RETURN(arrays->y,
                          device_->Allocate(g.batch * g.out_channels *
                                            g.out_pixels() * element));
      PS_ASSIGN_OR_RETURN(arrays->x, device_->Allocate(g.batch * g.channels *
                                                       g.pixels() * element));
    }
    if (arrays->workspace == nullptr ||
        arrays->workspace_bytes < workspace_bytes) {
      arrays->workspace.reset();
      PS_ASSIGN_OR_RETURN(
          arrays->workspace,
          device_->Allocate(static_cast<int64_t>(workspace_bytes)));
      arrays->workspace_bytes = workspace_bytes;
    }
    return absl::OkStatus();
  }

  LayerDevice* const device_;  // Not owned.
  const std::shared_ptr<CudnnHandle> handle_;
  const ConvolutionGeometry geometry_;
  const int64_t weight_bytes_;
  cudnnTensorDescriptor_t x_ = nullptr;
  cudnnTensorDescriptor_t y_ = nullptr;
  cudnnFilterDescriptor_t weights_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  std::optional<Algorithm> forward_;
  std::optional<Algorithm> backward_data_;
  std::optional<Algorithm> backward_filter_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvolutionPasses>> PlanCudnnConvolution(
    LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
    const ConvolutionGeometry& geometry) {
  auto convolution =
      std::make_unique<CudnnConvolution>(device, std::move(handle), geometry);
  PS_RETURN_IF_ERROR(Annotate(convolution->Plan(), "cuDNN"));
  return convolution;
}

}  // namespace ps
