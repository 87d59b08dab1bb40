#include "server/slices/change_log.h"

#include "server/slices/touched_set.h"

namespace ps {

void ChangeLog::Add(const std::vector<uint32_t>* changed) {
  ++version_;
  if (changed == nullptr) {
    changes_.clear();
    size_ = 0;
    return;
  }
  changes_.push_back(*changed);
  size_ += static_cast<int64_t>(changed->size());
  // The number of lists counts as well, because even an empty one takes memory.
  while (!changes_.empty() &&
         size_ + static_cast<int64_t>(changes_.size()) > num_elements_ / 2) {
    size_ -= static_cast<int64_t>(changes_.front().size());
    changes_.pop_front();
  }
}

bool ChangeLog::Since(int64_t version, std::vector<uint32_t>* indices) const {
  const int64_t updates = version_ - version;
  if (updates > static_cast<int64_t>(changes_.size())) return false;
  indices->clear();
  if (updates == 0) return true;
  if (updates == 1) {
    *indices = changes_.back();
    return true;
  }
  // One per thread, reused for all slices.
  thread_local TouchedSet touched;
  touched.Reset(num_elements_);
  for (auto changes = changes_.end() - updates; changes != changes_.end();
       ++changes) {
    for (const uint32_t index : *changes) touched.Add(index);
  }
  touched.Take(indices);
  return true;
}

}  // namespace ps
