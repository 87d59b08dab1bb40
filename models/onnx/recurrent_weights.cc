#include "models/onnx/recurrent_weights.h"

#include <cstddef>

namespace ps {
namespace {

// Returns the values in blocks: block i of the result is block order[i].
std::vector<float> Reordered(absl::Span<const float> values,
                             absl::Span<const int> order) {
  const size_t block = values.size() / order.size();
  std::vector<float> reordered;
  reordered.reserve(values.size());
  for (const int from : order) {
    const absl::Span<const float> rows = values.subspan(from * block, block);
    reordered.insert(reordered.end(), rows.begin(), rows.end());
  }
  return reordered;
}

}  // namespace

std::vector<float> ToOnnxGates(absl::Span<const float> values, bool lstm) {
  return lstm ? Reordered(values, {0, 3, 1, 2}) : Reordered(values, {1, 0, 2});
}

std::vector<float> FromOnnxGates(absl::Span<const float> values, bool lstm) {
  return lstm ? Reordered(values, {0, 2, 3, 1}) : Reordered(values, {1, 0, 2});
}

}  // namespace ps
