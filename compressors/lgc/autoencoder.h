// The autoencoder of LGC: one encoder, and a decoder for each worker.
// Abrahamyan et al., "Learned Gradient Compression for Distributed Deep
// Learning", IEEE TNNLS 2022; channels and kernels as in a third party's code
// of it, lengths and padding chosen so that positions stay aligned.
//
// T is float, or double in tests.
#ifndef COMPRESSORS_LGC_AUTOENCODER_H_
#define COMPRESSORS_LGC_AUTOENCODER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// Vectors are padded with zeros to a multiple of this.
constexpr int64_t kAutoencoderBlock = 16;
inline int64_t PaddedLength(int64_t length) {
  return (length + kAutoencoderBlock - 1) / kAutoencoderBlock *
         kAutoencoderBlock;
}
// How many numbers code `length` values.
inline int64_t CodeLength(int64_t length) { return PaddedLength(length) / 4; }

int64_t NumEncoderParameters();  // 172,996.
int64_t NumDecoderParameters();  // 43,682, with the layer that joins.

// Initial weights, by `seed` and, for decoders, the worker.
std::vector<float> InitialEncoder(uint64_t seed);
std::vector<float> InitialDecoder(uint64_t seed, int rank);

// The code of x: [CodeLength(x.size())].
template <typename T>
std::vector<T> Encode(const T* encoder, absl::Span<const T> x);

// A worker's values from the leader's code, of values that are as many as
// `innovation`, and the worker's own innovation, which is 0 where it has none.
template <typename T>
std::vector<T> Decode(const T* decoder, const std::vector<T>& code,
                      absl::Span<const T> innovation);

// The values of all workers in one iteration, in the same order.
template <typename T>
struct TrainingExample {
  std::vector<std::vector<T>> values;       // [num_workers][length]
  std::vector<std::vector<T>> innovations;  // Likewise.
  int leader = 0;
};

struct ReconstructionError {
  double error = 0;       // sum |decoded - x|^2 / sum |x|^2, over all workers.
  double innovation = 0;  // The same of the innovations alone.
  // The same of two numbers for each worker: the means of its values where the
  // leader's are at least 0, and of the others.
  double signs = 0;
};

// Computes 0.5 sum_k mean_i (decoded_k,i - x_k,i)^2 + 0.5 sum_(k != m) mean
// (z_k - z_m)^2 with codes z, all decoded from the leader's. `parameters`: the
// encoder, then each worker's decoder. Replaces *gradient unless it is null.
// Returns the loss.
template <typename T>
double AutoencoderLoss(absl::Span<const T> parameters,
                       const TrainingExample<T>& example,
                       std::vector<T>* gradient, ReconstructionError* error);

}  // namespace ps

#endif  // COMPRESSORS_LGC_AUTOENCODER_H_
