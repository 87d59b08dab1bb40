#include "compressors/adacomp/adacomp_bins.h"

#include <algorithm>
#include <cmath>

namespace ps {

void AdaCompBins::Choose(const AdaCompBlock& block, Selection* chosen) {
  const float* const g = block.sum.data();
  const int64_t n = static_cast<int64_t>(block.sum.size());
  for (int64_t begin = 0; begin < n; begin += bin_size_) {
    const int64_t end = std::min(n, begin + bin_size_);
    float largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      largest = std::max(largest, std::fabs(g[i]));
    }
    sum_of_maxima_ += largest;
    ++bins_;
    for (int64_t i = begin; i < end; ++i) {
      const float d = block.gradient[i];
      // With a factor of 2, one rounded addition is enough. If it overflows to
      // infinity, it still exceeds every maximum, as the exact number would.
      const float h =
          scale_factor_ == 2 ? g[i] + d : block.residual[i] + scale_factor_ * d;
      if (std::fabs(h) < largest || g[i] == 0) continue;
      chosen->indices.push_back(static_cast<uint32_t>(block.begin + i));
      chosen->values.push_back(g[i]);
    }
  }
}

float AdaCompBins::scale() const {
  if (bins_ == 0) return 0;
  return static_cast<float>(sum_of_maxima_ / static_cast<double>(bins_));
}

}  // namespace ps
