// Selects the largest magnitudes of each chunk.
#ifndef COMPRESSORS_CHUNKS_LARGEST_OF_CHUNKS_H_
#define COMPRESSORS_CHUNKS_LARGEST_OF_CHUNKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "compressors/chunks/chunk_layout.h"
#include "compressors/selectors/selector.h"
#include "tensor/backend.h"

namespace ps {

// Selects from each chunk the same number of elements, or all of a chunk that
// has fewer: those of the largest magnitudes, and the first of equal ones,
// zeros included. Not thread-safe.
class LargestOfChunks {
 public:
  // of_each: the number for each chunk, at least 1. `backend` is not owned and
  // must outlive this object. A device's vectors are copied to the host, which
  // selects.
  LargestOfChunks(ChunkLayout layout, int64_t of_each, Backend* backend);

  int64_t num_selected() const { return num_selected_; }

  // Implements Selector::Select. input.target_count is not used.
  absl::Status SelectOfSum(const SelectorInput& input, Selected* selected,
                           CompressionStats* stats);

 private:
  const ChunkLayout layout_;
  const int64_t of_each_;
  int64_t num_selected_ = 0;
  Backend* const backend_;   // Not owned.
  std::vector<float> host_;  // A copy of the device's vector.
};

}  // namespace ps

#endif  // COMPRESSORS_CHUNKS_LARGEST_OF_CHUNKS_H_
