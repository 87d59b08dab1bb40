// Sums sparse payloads, in time proportional to their elements.
#ifndef SERVER_SLICES_TOUCHED_SUM_H_
#define SERVER_SLICES_TOUCHED_SUM_H_

#include <cstdint>
#include <vector>

#include "compressors/payload/payload_format.h"
#include "server/slices/touched_set.h"

namespace ps {

// The sum. Holds a vector that is 0 except where payloads were added, and the
// set of those places. Can be reused for any number of slices. Not thread-safe.
class TouchedSum {
 public:
  // Prepares for payloads of num_elements elements. The sum must be empty.
  void Reset(int64_t num_elements);

  // Adds a valid payload of that many elements that is not dense.
  void Add(const PayloadPieces& pieces);

  // Replaces *indices by the indices that were added, in ascending order, and
  // *sums by the sums there, including those that are 0. Empties the sum.
  void Take(std::vector<uint32_t>* indices, std::vector<float>* sums);

 private:
  std::vector<float> sums_;
  TouchedSet touched_;
  int64_t count_ = 0;  // An upper bound on the number of touched elements.
};

}  // namespace ps

#endif  // SERVER_SLICES_TOUCHED_SUM_H_
