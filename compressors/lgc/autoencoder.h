// The autoencoder of LGC, with one encoder and a decoder for each worker.
// Abrahamyan et al., "Learned Gradient Compression for Distributed Deep
// Learning", IEEE TNNLS 2022; channels and kernels are those of a third party's
// code, lengths and padding are chosen so that positions stay aligned.
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
// Returns the size of the code of `length` values.
inline int64_t CodeLength(int64_t length) { return PaddedLength(length) / 4; }

int64_t NumEncoderParameters();  // Returns 172,996.
int64_t NumDecoderParameters();  // Returns 43,682, with the layer that joins.

// Return the initial weights, drawn by `seed` and, for decoders, the worker.
std::vector<float> InitialEncoder(uint64_t seed);
std::vector<float> InitialDecoder(uint64_t seed, int rank);

// Returns the code of x: [CodeLength(x.size())].
template <typename T>
std::vector<T> Encode(const T* encoder, absl::Span<const T> x);

// Returns a worker's values, as many as `innovation`, decoded from the leader's
// code and the worker's own innovation, which is 0 where it has none.
template <typename T>
std::vector<T> Decode(const T* decoder, const std::vector<T>& code,
                      absl::Span<const T> innovation);

// The values of all workers in one iteration, in one order of positions.
template <typename T>
struct TrainingExample {
  std::vector<std::vector<T>> values;       // [num_workers][length]
  std::vector<std::vector<T>> innovations;  // [num_workers][length]
  int leader = 0;
};

struct ReconstructionError {
  double error = 0;       // sum |decoded - x|^2 / sum |x|^2, over all workers.
  double innovation = 0;  // The same ratio of the innovations alone.
  // The same ratio if each worker's values are replaced by two means: of those
  // where the leader's values are at least 0, and of the others.
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
