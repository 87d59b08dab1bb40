// Which elements of a slice the last updates changed.
#ifndef SERVER_SLICES_CHANGE_LOG_H_
#define SERVER_SLICES_CHANGE_LOG_H_

#include <cstdint>
#include <deque>
#include <vector>

namespace ps {

// For workers that hold weights of different versions. Keeps the indices of the
// last updates, together with the number of those at most half as many as there
// are elements: all weights take less than longer lists. Not thread-safe.
class ChangeLog {
 public:
  explicit ChangeLog(int64_t num_elements) : num_elements_(num_elements) {}

  // The next update, from 0 on, changed the elements with these ascending
  // indices; null: it may have changed any.
  void Add(const std::vector<uint32_t>* changed);

  // Updates added so far.
  int64_t version() const { return version_; }
  // Indices held.
  int64_t size() const { return size_; }

  // Replaces *indices by the ascending indices of what may have changed since
  // the weights had received `version` updates, at most version(). False: any
  // may have.
  bool Since(int64_t version, std::vector<uint32_t>* indices) const;

 private:
  const int64_t num_elements_;
  int64_t version_ = 0;
  // Of the last updates, oldest first.
  std::deque<std::vector<uint32_t>> changes_;
  int64_t size_ = 0;
};

}  // namespace ps

#endif  // SERVER_SLICES_CHANGE_LOG_H_
