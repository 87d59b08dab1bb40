// The interface of the operations that layers need from a device.
//
// An operation is planned once, for fixed shapes. Planning picks primitives,
// memory layouts and scratch space, so that Forward and Backward allocate
// nothing. Between operations, activations keep whatever layout suits the
// backend best; only Reorder converts them to plain row-major order. Weights
// and their gradients always have PyTorch's layouts ([out, in, height, width],
// [out, in], [out]), since they live in one flat vector that is also what a
// checkpoint holds.
#ifndef TENSOR_NN_KERNELS_H_
#define TENSOR_NN_KERNELS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/tensor.h"

namespace ps {

// A backend's memory layout of an activation. Only the backend that created it
// knows the details.
class ActivationLayout {
 public:
  virtual ~ActivationLayout() = default;
};

struct ActivationDesc {
  Shape shape;  // [batch, channels, height, width] or [batch, features].
  // The layout; null means plain row-major order of `shape`.
  std::shared_ptr<const ActivationLayout> layout;
  // The memory that an activation takes, in floats; a layout may add padding.
  int64_t num_floats = 0;

  static ActivationDesc Plain(Shape shape) {
    ActivationDesc desc;
    desc.num_floats = NumElements(shape);
    desc.shape = std::move(shape);
    return desc;
  }
};

// Functions of one element; kSigmoid is 1 / (1 + exp(-x)).
enum class Activation { kRelu, kTanh, kSigmoid };

// A convolution or linear layer: y = W x + b. Every pointer is to memory of the
// backend, of the size that the descriptions give. Backward belongs to the
// latest Forward and needs the same x and weight, since it may read
// intermediate results of Forward.
class AffineOp {
 public:
  virtual ~AffineOp() = default;
  virtual const ActivationDesc& output() const = 0;
  virtual absl::Status Forward(const float* x, const float* weight,
                               const float* bias, float* y) = 0;
  // Backpropagates. Overwrites dweight and dbias, and also dx unless it is null
  // (the first layer of a model needs none).
  virtual absl::Status Backward(const float* x, const float* weight,
                                const float* dy, float* dx, float* dweight,
                                float* dbias) = 0;

  // Fuses an activation function into Forward, in the pass that adds the bias:
  // y is then the function's value. Each Backward must follow a
  // BackwardActivation, and does not use dbias. Returns false, and changes
  // nothing, if the operation does not save a pass in this way.
  virtual bool FuseActivation(Activation) { return false; }
  // Replaces dy, the gradient of y, by that of the function's argument.
  // Overwrites dbias. Errors: kFailedPrecondition without a fused function.
  virtual absl::Status BackwardActivation(const float* /*y*/, float* /*dy*/,
                                          float* /*dbias*/) {
    return absl::FailedPreconditionError("no activation function is fused");
  }
};

// An operation without weights: y = f(x). Backward belongs to the latest
// Forward and takes the same x and y. The functions that plan operations say
// whether Backward does not read one of them, or works in place.
class UnaryOp {
 public:
  virtual ~UnaryOp() = default;
  virtual const ActivationDesc& output() const = 0;
  virtual absl::Status Forward(const float* x, float* y) = 0;
  // Backpropagates. Overwrites dx.
  virtual absl::Status Backward(const float* x, const float* y, const float* dy,
                                float* dx) = 0;
};

// The sum y = a + b, where all three have the same layout.
class SumOp {
 public:
  virtual ~SumOp() = default;
  // Adds. y may be a or b. b may be null: then y = a.
  virtual absl::Status Run(const float* a, const float* b, float* y) = 0;
};

// Batch normalisation (Ioffe and Szegedy, "Batch normalization: accelerating
// deep network training by reducing internal covariate shift", ICML 2015), and
// the steps that usually follow it: adding a residual, and a ReLU. All vectors
// are [channels].
class BatchNormOp {
 public:
  virtual ~BatchNormOp() = default;
  virtual const ActivationDesc& output() const = 0;

  struct ForwardArguments {
    const float* x = nullptr;
    const float* residual = nullptr;  // Like x; only if one was planned.
    const float* weight = nullptr;
    const float* bias = nullptr;
    // The running statistics. Training updates them from the batch's mean and
    // its unbiased variance. Inference, and training with fixed statistics,
    // normalises by them and does not change them.
    float* running_mean = nullptr;
    float* running_variance = nullptr;
    float* y = nullptr;  // May be x in inference, or the residual.
  };
  virtual absl::Status Forward(const ForwardArguments& arguments) = 0;

  struct BackwardArguments {
    const float* x = nullptr;
    const float* y = nullptr;  // Read if there is a residual.
    // The gradient of y. With a residual and a ReLU, it is cleared where the
    // ReLU blocks it and so becomes the residual's gradient.
    float* dy = nullptr;
    float* dx = nullptr;  // May be dy unless there is a residual; null: none.
    float* dweight = nullptr;
    float* dbias = nullptr;
  };
  // Backpropagates the latest Forward of a training plan. Overwrites dx,
  // dweight and dbias.
  virtual absl::Status Backward(const BackwardArguments& arguments) = 0;
};

// Dropout (Srivastava et al., "Dropout: a simple way to prevent neural networks
// from overfitting", JMLR 15, 2014), for training: each element becomes 0 with
// the planned probability p, and is multiplied by 1 / (1 - p) otherwise.
class DropoutOp {
 public:
  virtual ~DropoutOp() = default;
  virtual const ActivationDesc& output() const = 0;
  // Drops elements. The choice is a pure function of `key` and of their
  // positions in memory. y may be x.
  virtual absl::Status Forward(uint64_t key, const float* x, float* y) = 0;
  // Drops the same elements as the latest Forward. dx may be dy.
  virtual absl::Status Backward(const float* dy, float* dx) = 0;
};

// The mean cross entropy of softmax(logits) over the batch.
class SoftmaxCrossEntropyOp {
 public:
  virtual ~SoftmaxCrossEntropyOp() = default;
  struct Result {
    double loss = 0;  // The mean over the batch.
    // The number of examples whose label has the largest logit, or one of the
    // five largest; of equal logits, the first ranks higher.
    int64_t correct = 0;
    int64_t correct_top5 = 0;
  };
  // Computes the loss. labels: [batch], host memory, each in [0, classes).
  // dlogits, of the logits' shape and layout, receives the gradient of the mean
  // unless it is null; it may be the memory of the logits.
  virtual absl::StatusOr<Result> Run(const float* logits, const int32_t* labels,
                                     float* dlogits) = 0;
};

struct ConvolutionShape {
  int64_t out_channels = 0;
  int64_t kernel_height = 0;
  int64_t kernel_width = 0;
  int64_t stride = 1;
  int64_t padding = 0;  // The number of zeros on each side, in both directions.
  // The input and output channels are each split into this many groups, and
  // every output channel depends only on the input channels of its own group.
  int64_t groups = 1;
  bool bias = true;  // If false, the bias and its gradient are null.
};

struct BatchNormShape {
  bool training = true;
  // Whether training, too, normalises by the running statistics, does not
  // change them, and takes them for constants.
  bool fixed_statistics = false;
  bool relu = false;      // Applied as the last step.
  float epsilon = 1e-5f;  // Added to the variance.
  // The weight of the batch: running = (1 - momentum) running + momentum batch.
  float momentum = 0.1f;

  bool measures_batch() const { return training && !fixed_statistics; }
};

struct PoolingShape {
  enum class Kind { kMax, kAverage };
  Kind kind = Kind::kMax;
  int64_t window = 2;
  int64_t stride = 2;
  // The padding on each side, in both directions; at most half the window. It
  // is never the maximum, and counts as zeros in an average. Trailing rows and
  // columns that do not fill a window are dropped.
  int64_t padding = 0;
};

// The shortcut without weights of He et al., "Deep residual learning for image
// recognition", CVPR 2016, option A: it takes every stride-th pixel in both
// directions and adds channels of zeros, the same number before and after.
struct SubsamplingShape {
  int64_t stride = 2;
  int64_t out_channels = 0;  // At least the input's, and of the same parity.
};

// The kernels. Errors of every Plan: kInvalidArgument, naming the shapes, when
// they do not fit together.
class NnKernels {
 public:
  virtual ~NnKernels() = default;

  // Implements Backend::UseThreads.
  virtual void UseThreads(int) {}

  virtual absl::StatusOr<std::unique_ptr<AffineOp>> PlanConvolution(
      const ConvolutionShape& shape, const ActivationDesc& input) = 0;
  // Plans batch normalisation. Input: [batch, channels, height, width] or
  // [batch, channels]. `residual`, which has the same shape and layout, is
  // added to the normalised input; it may be null.
  virtual absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanBatchNorm(
      const BatchNormShape& shape, const ActivationDesc& input,
      const ActivationDesc* residual) = 0;
  // Plans a linear layer. Input: [batch, features]; or a plain input with more
  // dimensions, which are flattened in row-major order and count as features.
  virtual absl::StatusOr<std::unique_ptr<AffineOp>> PlanLinear(
      int64_t out_features, const ActivationDesc& input) = 0;
  // Plans pooling. Backward reads neither x nor y, and both may be null. The
  // same holds for adaptive pooling, global pooling and subsampling.
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanPooling(
      const PoolingShape& shape, const ActivationDesc& input) = 0;
  // Plans a function. y may be x, dx may be dy. Backward reads y; x may be
  // null.
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanActivation(
      Activation function, const ActivationDesc& input) = 0;
  // Plans a sum of any shape and layout.
  virtual absl::StatusOr<std::unique_ptr<SumOp>> PlanSum(
      const ActivationDesc& input) = 0;
  // Plans dropout. probability: in [0, 1).
  virtual absl::StatusOr<std::unique_ptr<DropoutOp>> PlanDropout(
      double probability, const ActivationDesc& input) = 0;
  // Plans an average over out_height x out_width parts; part i of n of a
  // dimension e is [floor(i e / n), ceil((i + 1) e / n)), as in PyTorch's
  // AdaptiveAvgPool2d.
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanAdaptivePooling(
      int64_t out_height, int64_t out_width, const ActivationDesc& input) = 0;
  // Plans the mean over height and width; output: [batch, channels].
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanGlobalPooling(
      const ActivationDesc& input) = 0;
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanSubsampling(
      const SubsamplingShape& shape, const ActivationDesc& input) = 0;
  // Plans a conversion to plain row-major order; Backward converts the other
  // way, and reads neither x nor y.
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanReorder(
      const ActivationDesc& input) = 0;
  // Plans the loss. logits: [batch, classes].
  virtual absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
  PlanSoftmaxCrossEntropy(const ActivationDesc& logits) = 0;

  // The number of conversions of an activation from one layout to another since
  // the start, inside operations or by PlanReorder's operations.
  virtual int64_t num_reorders() const = 0;
};

}  // namespace ps

#endif  // TENSOR_NN_KERNELS_H_
