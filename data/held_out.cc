#include "data/held_out.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kHeldOutPurpose = 0x68656c64;  // "held"

}  // namespace

absl::StatusOr<std::vector<bool>> HeldOut(const DatasetOptions& options,
                                          int64_t size) {
  const double fraction = options.config.validation_fraction();
  const int64_t count = std::llround(fraction * static_cast<double>(size));
  if (count < 1 || count >= size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.validation_fraction is ", fraction, "; that is ", count, " of ",
        size, " examples, and both training and evaluation need one"));
  }
  // The examples with the smallest draws are held out.
  std::vector<std::pair<uint64_t, int64_t>> draws(size);
  for (int64_t i = 0; i < size; ++i) {
    draws[i] = {
        RandomKey(options.seed, kHeldOutPurpose, static_cast<uint64_t>(i)), i};
  }
  std::nth_element(draws.begin(), draws.begin() + count, draws.end());
  std::vector<bool> held_out(size);
  for (int64_t k = 0; k < count; ++k) held_out[draws[k].second] = true;
  return held_out;
}

}  // namespace ps
