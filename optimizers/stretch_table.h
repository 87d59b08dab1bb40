// Locates the segments of tensors in a slice, for layer-wise rules.
#ifndef OPTIMIZERS_STRETCH_TABLE_H_
#define OPTIMIZERS_STRETCH_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizers/optimizer.h"

namespace ps {

class StretchTable {
 public:
  // Creates the table. Errors: kInvalidArgument if the segments do not cover
  // num_elements elements.
  static absl::StatusOr<StretchTable> Create(const OptimizerOptions& options);

  int64_t size() const { return static_cast<int64_t>(adapt_.size()); }
  int64_t num_elements() const { return ends_.empty() ? 0 : ends_.back(); }
  bool adapt(int64_t stretch) const { return adapt_[stretch]; }
  double rate(int64_t stretch) const { return rates_[stretch]; }

  // Elements [begin(s), end(s)) of the slice are those of segment s.
  int64_t begin(int64_t stretch) const {
    return stretch == 0 ? 0 : ends_[stretch - 1];
  }
  int64_t end(int64_t stretch) const { return ends_[stretch]; }

  // Calls visit(stretch, part_begin, part_end) for each segment's part of
  // elements [begin, end) of the slice, in order.
  template <typename Visit>
  void ForParts(int64_t begin, int64_t end, Visit visit) const {
    int64_t stretch =
        std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin();
    while (begin < end) {
      const int64_t part_end = std::min(end, ends_[stretch]);
      if (begin < part_end) visit(stretch, begin, part_end);
      begin = part_end;
      ++stretch;
    }
  }

 private:
  std::vector<int64_t> ends_;  // Ascending.
  std::vector<bool> adapt_;
  std::vector<double> rates_;
};

}  // namespace ps

#endif  // OPTIMIZERS_STRETCH_TABLE_H_
