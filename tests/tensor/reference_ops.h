// A second implementation of the layers' operations, straight from their
// definitions, in double and plain order, to compare the backends with.
#ifndef TESTS_TENSOR_REFERENCE_OPS_H_
#define TESTS_TENSOR_REFERENCE_OPS_H_

#include <cstdint>
#include <vector>

#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// A dense array in row-major order.
struct ReferenceTensor {
  Shape shape;
  std::vector<double> values;
};

// x: [batch, channels, height, width]; weight: PyTorch's layout; bias: may be
// empty.
ReferenceTensor ReferenceConvolution(const ConvolutionShape& shape,
                                     const ReferenceTensor& x,
                                     const std::vector<double>& weight,
                                     const std::vector<double>& bias);

// x is flattened to [batch, features].
ReferenceTensor ReferenceLinear(const ReferenceTensor& x,
                                const std::vector<double>& weight,
                                const std::vector<double>& bias);

ReferenceTensor ReferencePooling(const PoolingShape& shape,
                                 const ReferenceTensor& x);

ReferenceTensor ReferenceAdaptivePooling(int64_t out_height, int64_t out_width,
                                         const ReferenceTensor& x);

ReferenceTensor ReferenceSubsampling(const SubsamplingShape& shape,
                                     const ReferenceTensor& x);

struct ReferenceBatchNormArguments {
  std::vector<double> weight;  // [channels]
  std::vector<double> bias;
  std::vector<double> residual;      // Like x, in plain order, or empty.
  std::vector<double> running_mean;  // If empty, the batch's own.
  std::vector<double> running_variance;
  double epsilon = 1e-5;
  bool relu = false;
};
ReferenceTensor ReferenceBatchNorm(const ReferenceBatchNormArguments& arguments,
                                   const ReferenceTensor& x);

ReferenceTensor ReferenceRelu(const ReferenceTensor& x);
ReferenceTensor ReferenceTanh(const ReferenceTensor& x);
ReferenceTensor ReferenceSigmoid(const ReferenceTensor& x);

// Mean over the batch of -ln softmax(logits)[label].
double ReferenceCrossEntropy(const ReferenceTensor& logits,
                             const std::vector<int32_t>& labels);

}  // namespace ps

#endif  // TESTS_TENSOR_REFERENCE_OPS_H_
