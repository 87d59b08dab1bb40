// The gamma law's quantile by a block: the bisection of fits/quantiles.h, eight
// halvings at a time, with the same bits. A single thread would take 0.2 ms,
// while the whole grid waits. For host and device.
#ifndef COMPRESSORS_CUDA_GAMMA_SEARCH_H_
#define COMPRESSORS_CUDA_GAMMA_SEARCH_H_

#include "common/host_device.h"
#include "compressors/fits/quantiles.h"
#include "compressors/fits/threshold_formulas.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// A quantile that one thread asks for and the block then searches.
struct GammaSearch {
  bool asked = false;
  bool answered = false;
  double shape = 0;
  double p = 0;
  quantiles_internal::Bisection bisection;

  PS_HOST_DEVICE bool open() const { return asked && !answered; }
  PS_HOST_DEVICE bool Exceeded(double x) const {
    return RegularizedUpperGamma(shape, x) > p;
  }
};

// The laws, with that quantile. While the search is open, what Magnitudes sets
// is not valid.
struct SearchedFits {
  TailFits fits;
  GammaSearch* search;

  PS_HOST_DEVICE bool Magnitudes(const TailSample& sample, double density,
                                 double* x) const {
    const auto solve = [&](const quantiles_internal::GammaSurvival& survival,
                           double p, double high) {
      if (!search->asked) {
        search->asked = true;
        search->shape = survival.shape;
        search->p = p;
        search->bisection.high = high;
      }
      return search->bisection.high;
    };
    return fits.Magnitudes(sample, density, solve, x);
  }
  PS_HOST_DEVICE bool Exceedances(const TailSample& sample, double density,
                                  double* x) const {
    return fits.Exceedances(sample, density, x);
  }
};

// Node t of a tree of halvings from 1 on has the children 2 t and 2 t + 1, its
// lower and upper half.
struct GammaSearchShared {
  bool exceeded[kSparseThreads];  // Whether the node's middle is.
};

// Answers an open search, which is in shared memory.
template <class Block>
PS_DEVICE_CALL void AnswerSearch(Block& block, GammaSearchShared* shared,
                                 GammaSearch* search) {
  // Twice the guess, four times, and so on: one round is almost always enough.
  constexpr int kDoublings = 8;
  bool found = false;
  while (!found) {
    block.Phase([&](int thread) {
      if (thread >= kDoublings) return;
      double high = search->bisection.high;
      for (int i = 0; i < thread; ++i) high *= 2;
      shared->exceeded[thread] = search->Exceeded(high);
    });
    found = !shared->exceeded[kDoublings - 1];
    block.Phase([&](int thread) {
      if (thread != 0) return;
      for (int i = 0; i < kDoublings && shared->exceeded[i]; ++i) {
        search->bisection.high *= 2;
      }
    });
  }
  while (!search->bisection.done()) {
    block.Phase([&](int thread) {
      if (thread == 0) return;
      quantiles_internal::Bisection mine = search->bisection;
      int bit = kSparseThreads / 2;
      while ((thread & bit) == 0) bit /= 2;
      for (bit /= 2; bit > 0; bit /= 2) mine.Halve((thread & bit) != 0);
      shared->exceeded[thread] = search->Exceeded(mine.middle());
    });
    block.Phase([&](int thread) {
      if (thread != 0) return;
      for (int node = 1; node < kSparseThreads && !search->bisection.done();) {
        const bool upper = shared->exceeded[node];
        search->bisection.Halve(upper);
        node = 2 * node + (upper ? 1 : 0);
      }
    });
  }
  block.Phase([&](int thread) {
    if (thread == 0) search->answered = true;
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_GAMMA_SEARCH_H_
