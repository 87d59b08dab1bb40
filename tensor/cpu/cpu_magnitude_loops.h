// Implements the CPU's sparse kernels in vectorised loops: each works on one
// chunk, on one thread.
//
// Sums are kept in kSumLanes doubles, where an element's lane is its index
// modulo kSumLanes whatever the vector width of the machine, so that every
// machine gets the same bits. A list that holds all elements above a location,
// and perhaps others, gives the same sums over that location as the vector
// itself.
#ifndef TENSOR_CPU_CPU_MAGNITUDE_LOOPS_H_
#define TENSOR_CPU_CPU_MAGNITUDE_LOOPS_H_

#include <cstdint>
#include <vector>

#include "tensor/sparse_kernels.h"

namespace ps {

constexpr int kSumLanes = 16;

// Elements of one chunk, in ascending order of index. The vectors may be longer
// than `size`: their memory is reused, and the loops write whole vectors.
struct ChunkList {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  int64_t size = 0;

  // Allocates `more` elements after the first `used`, and the extra elements
  // that the loops write past them.
  void Reserve(int64_t used, int64_t more);
};

// The input of a filter: n elements of a vector whose first has index
// `first_index`, a multiple of kSumLanes; or, if `indices` is not null, n
// listed elements.
struct ChunkSource {
  const float* values = nullptr;
  const uint32_t* indices = nullptr;
  int64_t n = 0;
  uint32_t first_index = 0;

  static ChunkSource OfList(const ChunkList& list) {
    return {list.values.data(), list.indices.data(), list.size, 0};
  }
};

// The inputs of residual + gradient: n elements of two vectors, the first of
// which has index `first_index`, a multiple of kSumLanes.
struct SumOfTwo {
  const float* residual = nullptr;
  const float* gradient = nullptr;
  int64_t n = 0;
  uint32_t first_index = 0;
};

struct AddOptions {
  // Whether stores bypass the caches; the output is then aligned to 64 bytes.
  bool stream = false;
  SieveGuess guess;
};

// Writes the sum to `out` and its moments to `moments`; replaces `kept` by the
// elements above guess.keep_above. Sets `above` to their statistics if
// guess.sums are those of exceedances, and leaves it as it is otherwise.
void AddChunk(const SumOfTwo& sum, const AddOptions& options, float* out,
              Moments* moments, ChunkList* kept, Exceedances* above);

// Computes statistics over `location`; replaces `kept` by the elements above
// keep_above. If the source is a list, `kept` may be null.
void MeasureChunk(const ChunkSource& source, float location, float keep_above,
                  Exceedances* result, ChunkList* kept);

// Returns the number of elements of `list` above `location`.
int64_t CountInList(const ChunkList& list, float location);

// Replaces `selected` by the elements above `threshold`.
void SelectChunk(const ChunkSource& source, float threshold,
                 ChunkList* selected);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_MAGNITUDE_LOOPS_H_
