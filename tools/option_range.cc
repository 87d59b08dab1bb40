#include "tools/option_range.h"

#include "absl/strings/str_cat.h"

namespace ps {

absl::Status CheckOptionRange(absl::string_view option, int64_t value,
                              int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", option, " is ", value, "; must be in [", least, ", ", most, "]"));
}

}  // namespace ps
