#include "server/slices/touched_sum.h"

#include <algorithm>

#include "absl/types/span.h"
#include "compressors/payload/payload.h"

namespace ps {

void TouchedSum::Reset(int64_t num_elements) {
  touched_.Reset(num_elements);
  // The array only grows; the existing elements are 0.
  if (num_elements > static_cast<int64_t>(sums_.size())) {
    sums_.resize(num_elements);
  }
}

void TouchedSum::Add(const PayloadPieces& pieces) {
  VisitPayload(pieces, [this](absl::Span<const uint32_t> indices,
                              absl::Span<const float> values) {
    for (size_t i = 0; i < indices.size(); ++i) {
      sums_[indices[i]] += values[i];
      touched_.Add(indices[i]);
    }
    count_ += indices.size();
  });
}

void TouchedSum::Take(std::vector<uint32_t>* indices,
                      std::vector<float>* sums) {
  indices->reserve(
      std::min<int64_t>(count_, static_cast<int64_t>(sums_.size())));
  touched_.Take(indices);
  sums->resize(indices->size());
  for (size_t i = 0; i < indices->size(); ++i) {
    float& sum = sums_[(*indices)[i]];
    (*sums)[i] = sum;
    sum = 0;
  }
  count_ = 0;
}

}  // namespace ps
