// Requests to a child process, which answers them one after the other: a
// request is a line of its standard input, an answer a line of its standard
// output, "ok TEXT" or "error CODE TEXT" with the number of an
// absl::StatusCode.
#ifndef TOOLS_PROCESS_REQUESTS_H_
#define TOOLS_PROCESS_REQUESTS_H_

#include <functional>
#include <istream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// Line ends in an error become semicolons.
std::string FormatAnswer(const absl::StatusOr<std::string>& answer);

// Errors: that of the answer, kAborted if it has no code; kInvalidArgument with
// the line if it is no answer.
absl::StatusOr<std::string> ParseAnswer(absl::string_view line);

// The child's side: writes the answer to each line of `requests` to standard
// output. Returns the exit code when they end, or after an error, which is the
// last answer.
int AnswerRequests(
    std::istream* requests,
    const std::function<absl::StatusOr<std::string>(absl::string_view)>&
        answer);

}  // namespace ps

#endif  // TOOLS_PROCESS_REQUESTS_H_
