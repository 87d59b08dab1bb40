// Defines PS_RETURN_IF_ERROR and PS_ASSIGN_OR_RETURN, as Debian's Abseil lacks
// them.
#ifndef COMMON_STATUS_MACROS_H_
#define COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace ps {

// Prepends "context: " to the message of an error. OK stays OK.
inline absl::Status Annotate(const absl::Status& status,
                             absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(context, ": ", status.message()));
}

}  // namespace ps

#define PS_CONCAT_INNER_(a, b) a##b
#define PS_CONCAT_(a, b) PS_CONCAT_INNER_(a, b)

// Returns from the enclosing function if `expression`, a Status, is an error.
#define PS_RETURN_IF_ERROR(expression)       \
  do {                                       \
    absl::Status ps_status_ = (expression);  \
    if (!ps_status_.ok()) return ps_status_; \
  } while (false)

// Assigns `*expression` to `target`, or returns the error. `target` may be a
// declaration.
#define PS_ASSIGN_OR_RETURN(target, expression) \
  PS_ASSIGN_OR_RETURN_(PS_CONCAT_(ps_status_or_, __LINE__), target, expression)

#define PS_ASSIGN_OR_RETURN_(temporary, target, expression) \
  auto temporary = (expression);                            \
  if (!temporary.ok()) return temporary.status();           \
  target = *std::move(temporary)

#endif  // COMMON_STATUS_MACROS_H_
