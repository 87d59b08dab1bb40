#include "optimizers/stretch_table.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ps {

absl::StatusOr<StretchTable> StretchTable::Create(
    const OptimizerOptions& options) {
  StretchTable table;
  int64_t end = 0;
  for (const TensorStretch& stretch : options.stretches) {
    if (stretch.end < stretch.begin) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", stretch.tensor, " has elements [",
                       stretch.begin, ", ", stretch.end, ") in a slice"));
    }
    end += stretch.end - stretch.begin;
    table.ends_.push_back(end);
    table.adapt_.push_back(stretch.adapt);
    table.rates_.push_back(stretch.rate);
  }
  if (end != options.num_elements) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the tensors of a slice of ", options.num_elements, " elements have ",
        end, "; optimizer \"", options.config.name(),
        "\" needs to know where each lies"));
  }
  return table;
}

}  // namespace ps
