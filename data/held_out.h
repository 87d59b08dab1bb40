// Holds examples out of training, for data without a test set.
#ifndef DATA_HELD_OUT_H_
#define DATA_HELD_OUT_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "data/dataset.h"

namespace ps {

// Returns which of `size` examples data.validation_fraction holds out: the
// nearest whole number of them, chosen by seed and size alone. Errors:
// kInvalidArgument if no example is left on one side.
absl::StatusOr<std::vector<bool>> HeldOut(const DatasetOptions& options,
                                          int64_t size);

// Moves the held-out examples from *examples to the result; on both sides they
// keep their order. Errors: those of HeldOut.
template <typename Example>
absl::StatusOr<std::vector<Example>> HoldOut(const DatasetOptions& options,
                                             std::vector<Example>* examples) {
  PS_ASSIGN_OR_RETURN(const std::vector<bool> held_out,
                      HeldOut(options, static_cast<int64_t>(examples->size())));
  std::vector<Example> kept, held;
  for (size_t i = 0; i < held_out.size(); ++i) {
    (held_out[i] ? held : kept).push_back(std::move((*examples)[i]));
  }
  *examples = std::move(kept);
  return held;
}

}  // namespace ps

#endif  // DATA_HELD_OUT_H_
