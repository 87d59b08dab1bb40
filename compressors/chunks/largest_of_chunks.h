// Selects the largest magnitude of each chunk.
#ifndef COMPRESSORS_CHUNKS_LARGEST_OF_CHUNKS_H_
#define COMPRESSORS_CHUNKS_LARGEST_OF_CHUNKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "compressors/chunks/chunk_layout.h"
#include "compressors/selectors/selector.h"
#include "tensor/backend.h"

namespace ps {

// Selects from each chunk the element of the largest magnitude, and the first
// of equal ones: exactly one element for each chunk, zeros included. Not
// thread-safe.
class LargestOfChunks {
 public:
  // `backend` is not owned and must outlive this object. A device's vectors are
  // copied to the host, which selects.
  LargestOfChunks(ChunkLayout layout, Backend* backend);

  int64_t num_chunks() const { return num_chunks_; }

  // Implements Selector::Select. input.target_count is not used.
  absl::Status SelectOfSum(const SelectorInput& input, Selected* selected,
                           CompressionStats* stats);

 private:
  const ChunkLayout layout_;
  int64_t num_chunks_ = 0;
  Backend* const backend_;   // Not owned.
  std::vector<float> host_;  // A copy of the device's vector.
};

}  // namespace ps

#endif  // COMPRESSORS_CHUNKS_LARGEST_OF_CHUNKS_H_
