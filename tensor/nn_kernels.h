// What layers need from a device.
//
// An operation is planned once, for fixed shapes: the backend picks primitives,
// memory layouts and scratch space then, and Forward and Backward allocate
// nothing. Activations keep whatever layout the backend likes best between
// operations; only Reorder brings them to plain row-major order. Weights and
// their gradients always have PyTorch's layouts ([out, in, height, width],
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

// How a backend lays an activation out in memory; only the backend that made
// it knows more.
class ActivationLayout {
 public:
  virtual ~ActivationLayout() = default;
};

struct ActivationDesc {
  Shape shape;  // [batch, channels, height, width] or [batch, features].
  // Null: plain row-major order of `shape`.
  std::shared_ptr<const ActivationLayout> layout;
  // Memory that an activation takes, in floats; a layout may pad.
  int64_t num_floats = 0;

  static ActivationDesc Plain(Shape shape) {
    ActivationDesc desc;
    desc.num_floats = NumElements(shape);
    desc.shape = std::move(shape);
    return desc;
  }
};

// A convolution or linear layer: y = W x + b. Every pointer is to memory of the
// backend, of the size that the descriptions say.
class AffineOp {
 public:
  virtual ~AffineOp() = default;
  virtual const ActivationDesc& output() const = 0;
  virtual absl::Status Forward(const float* x, const float* weight,
                               const float* bias, float* y) = 0;
  // Overwrites dweight and dbias, and dx unless it is null (the first layer
  // of a model needs none).
  virtual absl::Status Backward(const float* x, const float* weight,
                                const float* dy, float* dx, float* dweight,
                                float* dbias) = 0;
};

// An operation without weights: y = f(x). Backward belongs to the latest
// Forward with the same x and y.
class UnaryOp {
 public:
  virtual ~UnaryOp() = default;
  virtual const ActivationDesc& output() const = 0;
  virtual absl::Status Forward(const float* x, float* y) = 0;
  // Overwrites dx.
  virtual absl::Status Backward(const float* x, const float* y, const float* dy,
                                float* dx) = 0;
};

// Mean cross entropy of softmax(logits) over the batch.
class SoftmaxCrossEntropyOp {
 public:
  virtual ~SoftmaxCrossEntropyOp() = default;
  struct Result {
    double loss = 0;  // Mean over the batch.
    // Examples whose label has the largest logit, or one of the five largest;
    // of equal ones the first counts as larger.
    int64_t correct = 0;
    int64_t correct_top5 = 0;
  };
  // labels: [batch], host memory, each in [0, classes). dlogits, plain
  // [batch, classes], receives the gradient of the mean unless it is null; it
  // may be the memory of the logits.
  virtual absl::StatusOr<Result> Run(const float* logits, const int32_t* labels,
                                     float* dlogits) = 0;
};

struct ConvolutionShape {
  int64_t out_channels = 0;
  int64_t kernel_height = 0;
  int64_t kernel_width = 0;
  int64_t stride = 1;
  int64_t padding = 0;  // Zeros on each side, both directions.
};

struct PoolingShape {
  enum class Kind { kMax, kAverage };
  Kind kind = Kind::kMax;
  int64_t window = 2;
  int64_t stride = 2;
};

// Errors of every Plan: kInvalidArgument, naming the shapes, when they do not
// fit together.
class NnKernels {
 public:
  virtual ~NnKernels() = default;

  virtual absl::StatusOr<std::unique_ptr<AffineOp>> PlanConvolution(
      const ConvolutionShape& shape, const ActivationDesc& input) = 0;
  // Input plain: [batch, features], or more dimensions that count as features,
  // flattened in row-major order.
  virtual absl::StatusOr<std::unique_ptr<AffineOp>> PlanLinear(
      int64_t out_features, const ActivationDesc& input) = 0;
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanPooling(
      const PoolingShape& shape, const ActivationDesc& input) = 0;
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanRelu(
      const ActivationDesc& input) = 0;
  // To plain row-major order; Backward goes the other way.
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanReorder(
      const ActivationDesc& input) = 0;
  // logits: plain [batch, classes].
  virtual absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
  PlanSoftmaxCrossEntropy(const ActivationDesc& logits) = 0;
};

}  // namespace ps

#endif  // TENSOR_NN_KERNELS_H_
