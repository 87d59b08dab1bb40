// Keeps the elements of a slice that recent updates changed.
#ifndef SERVER_SLICES_CHANGE_LOG_H_
#define SERVER_SLICES_CHANGE_LOG_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compressors/state_io.h"

namespace ps {

// Serves workers that hold weights of different versions. Keeps the indices of
// the latest updates; the indices and the number of updates kept add up to at
// most half the number of elements, because sending all weights takes less than
// longer lists. Not thread-safe.
class ChangeLog {
 public:
  explicit ChangeLog(int64_t num_elements) : num_elements_(num_elements) {}

  // Adds the next update, which changed the elements with these ascending
  // indices.
  void Add(absl::Span<const uint32_t> changed);
  // Adds the next update, which may have changed any element.
  void AddAll();

  // The number of updates added so far.
  int64_t version() const { return version_; }
  // The number of indices held.
  int64_t size() const { return size_; }

  // Replaces *indices by the ascending indices of the elements that may have
  // changed since the weights had received `version` updates, at most
  // version(). Returns false if any element may have changed.
  bool Since(int64_t version, std::vector<uint32_t>* indices) const;

  // Save and load the state; Load replaces everything. Errors: kDataLoss.
  void Save(StateWriter* writer) const;
  absl::Status Load(StateReader* reader);

 private:
  int64_t num_elements_;
  int64_t version_ = 0;
  // The indices of the latest updates, oldest first.
  std::deque<std::vector<uint32_t>> changes_;
  int64_t size_ = 0;
};

}  // namespace ps

#endif  // SERVER_SLICES_CHANGE_LOG_H_
