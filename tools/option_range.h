// Numbers on a command line that must lie in a range.
#ifndef TOOLS_OPTION_RANGE_H_
#define TOOLS_OPTION_RANGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ps {

// Checks that `value` is in [least, most]. Errors: kInvalidArgument naming the
// option (without its dashes), the value and the range.
absl::Status CheckOptionRange(absl::string_view option, int64_t value,
                              int64_t least, int64_t most);

}  // namespace ps

#endif  // TOOLS_OPTION_RANGE_H_
