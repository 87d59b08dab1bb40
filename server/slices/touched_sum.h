// Sums of sparse payloads, in work proportional to their elements.
#ifndef SERVER_SLICES_TOUCHED_SUM_H_
#define SERVER_SLICES_TOUCHED_SUM_H_

#include <cstdint>
#include <vector>

#include "compressors/payload/payload_format.h"
#include "server/slices/touched_set.h"

namespace ps {

// Holds a vector that is 0 but where payloads were added, and knows where that
// is. Not thread-safe; made to be used again for one slice after the other.
class TouchedSum {
 public:
  // Payloads of so many elements come next. Nothing may be left inside.
  void Reset(int64_t num_elements);

  // Adds a valid payload of as many elements that is not dense.
  void Add(const PayloadPieces& pieces);

  // Replaces both by the ascending indices of what was added and by the sums
  // there, also those that are 0. Leaves nothing inside.
  void Take(std::vector<uint32_t>* indices, std::vector<float>* sums);

 private:
  std::vector<float> sums_;
  TouchedSet touched_;
  int64_t count_ = 0;  // At least as many as there are elements.
};

}  // namespace ps

#endif  // SERVER_SLICES_TOUCHED_SUM_H_
