// Chooses elements in the bins of a tensor as AdaComp does: Chen, Choi, Brand,
// Agrawal, Zhang, Gopalakrishnan, "AdaComp: Adaptive Residual Gradient
// Compression for Data-Parallel Distributed Training", AAAI 2018.
//
// With the residual R and the gradient dW:
//     G = R + dW, H = R + scale_factor dW
//     gmax = the largest |G| of the bin
//     sent where |H| >= gmax, unless G is 0 (so never in a bin of zeros)
//     as sign(G) S, with S the mean of gmax over all bins of the tensor
// The sign is that of G, which may differ from that of H. Each operation is
// rounded to float separately, so that every device chooses the same elements.
#ifndef COMPRESSORS_ADACOMP_ADACOMP_BINS_H_
#define COMPRESSORS_ADACOMP_ADACOMP_BINS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Consecutive bins; the last one may be shorter. The spans have equal lengths.
struct AdaCompBlock {
  // The position in the tensor, a bin's begin.
  int64_t begin = 0;
  absl::Span<const float> residual;  // Empty if the scale factor is 2.
  absl::Span<const float> gradient;
  absl::Span<const float> sum;  // residual + gradient, all finite.
};

// Processes one tensor, block by block.
class AdaCompBins {
 public:
  AdaCompBins(int bin_size, float scale_factor)
      : bin_size_(bin_size), scale_factor_(scale_factor) {}

  // Appends the chosen elements, with positions in the tensor and values of G.
  void Choose(const AdaCompBlock& block, Selection* chosen);

  // Returns S over all blocks; 0 if there were none.
  float scale() const;

 private:
  const int bin_size_;
  const float scale_factor_;
  double sum_of_maxima_ = 0;
  int64_t bins_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_ADACOMP_ADACOMP_BINS_H_
