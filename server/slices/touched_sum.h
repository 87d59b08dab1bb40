// Sums sparse payloads, in time proportional to their elements.
#ifndef SERVER_SLICES_TOUCHED_SUM_H_
#define SERVER_SLICES_TOUCHED_SUM_H_

#include <cstdint>
#include <vector>

#include "compressors/payload/payload_format.h"
#include "server/slices/touched_set.h"

namespace ps {

// Can be reused for any number of slices. Not thread-safe.
class TouchedSum {
 public:
  // Replaces *indices by those of all elements of the payloads, in ascending
  // order, and *sums by the sums there, including those that are 0: 0 and then
  // each payload's value, in the order of the payloads. If `counts` is not
  // null, also sets it to how many payloads have each. The payloads are valid,
  // have the same dense_size, and are not dense.
  void Sum(const std::vector<const PayloadPieces*>& payloads,
           int64_t dense_size, std::vector<uint32_t>* indices,
           std::vector<float>* sums, std::vector<int>* counts = nullptr);

 private:
  // Positions that are summed together, so that their sums stay in the cache.
  static constexpr int64_t kBlock = int64_t{1} << 14;

  std::vector<float> sums_;  // [kBlock]; 0 between two blocks.
  std::vector<int> counts_;  // The same.
  TouchedSet touched_;
};

}  // namespace ps

#endif  // SERVER_SLICES_TOUCHED_SUM_H_
