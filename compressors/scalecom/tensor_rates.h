// Computes the share of each tensor that ScaleCom sends.
#ifndef COMPRESSORS_SCALECOM_TENSOR_RATES_H_
#define COMPRESSORS_SCALECOM_TENSOR_RATES_H_

#include <cstdint>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/payload/payload_format.h"

namespace ps {

// Returns n: 1 element in n is sent of a tensor whose weights are used `uses`
// times for one example. Chen et al., "ScaleCom", NeurIPS 2020, section 4, give
// the bounds for the arithmetic of a batch of 32; these are of one example.
int64_t RateForUses(int64_t uses);

// Whether all elements of the tensor are sent.
bool IsSentWhole(const TensorSpan& tensor, const ScaleComConfig& config);

// Returns the tensors of the vector that are not empty, in order, with the rate
// of each as its chunk size: 1 for those that are sent whole.
std::vector<ChunkRun> TensorRates(const CompressorOptions& options);

}  // namespace ps

#endif  // COMPRESSORS_SCALECOM_TENSOR_RATES_H_
