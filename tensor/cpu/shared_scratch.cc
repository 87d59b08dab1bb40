#include "tensor/cpu/shared_scratch.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace ps {

absl::Status SharedScratch::Reserve(int64_t num_floats) {
  if (num_floats <= num_floats_) return absl::OkStatus();
  constexpr int64_t kAlignmentBytes = 64;
  constexpr int64_t kFloatsPerLine = kAlignmentBytes / sizeof(float);
  const int64_t rounded =
      (num_floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
  void* const data =
      std::aligned_alloc(kAlignmentBytes, rounded * sizeof(float));
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", rounded, " floats of scratch"));
  }
  data_.reset(static_cast<float*>(data), std::free);
  num_floats_ = rounded;
  return absl::OkStatus();
}

}  // namespace ps
