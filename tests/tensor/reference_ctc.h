// CTC by its definition, which enumerates all paths through the frames.
#ifndef TESTS_TENSOR_REFERENCE_CTC_H_
#define TESTS_TENSOR_REFERENCE_CTC_H_

#include <cstdint>
#include <vector>

#include "tests/tensor/reference_ops.h"

namespace ps {

// -ln of the probability that the first `frames` frames of example `example`
// spell `labels`. logits: [steps, batch, classes]. Takes classes^frames paths.
double ReferenceCtcLoss(const ReferenceTensor& logits, int64_t example,
                        int64_t frames, const std::vector<int32_t>& labels);

}  // namespace ps

#endif  // TESTS_TENSOR_REFERENCE_CTC_H_
