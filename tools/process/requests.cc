#include "tools/process/requests.h"

#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/exit_codes.h"

namespace ps {

std::string FormatAnswer(const absl::StatusOr<std::string>& answer) {
  if (answer.ok()) return absl::StrCat("ok ", *answer);
  return absl::StrCat(
      "error ", answer.status().raw_code(), " ",
      absl::StrReplaceAll(answer.status().message(), {{"\n", "; "}}));
}

absl::StatusOr<std::string> ParseAnswer(absl::string_view line) {
  absl::string_view text = line;
  if (absl::ConsumePrefix(&text, "ok ")) return std::string(text);
  if (!absl::ConsumePrefix(&text, "error ")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", line, "\" is no answer"));
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 1));
  int code = 0;
  if (!absl::SimpleAtoi(parts.first, &code) || code == 0) {
    return absl::AbortedError(text);
  }
  return absl::Status(static_cast<absl::StatusCode>(code), parts.second);
}

int AnswerRequests(
    std::istream* requests,
    const std::function<absl::StatusOr<std::string>(absl::string_view)>&
        answer) {
  for (std::string line; std::getline(*requests, line);) {
    const absl::StatusOr<std::string> given = answer(line);
    std::printf("%s\n", FormatAnswer(given).c_str());
    std::fflush(stdout);
    if (!given.ok()) return kExitFailed;
  }
  return kExitDone;
}

}  // namespace ps
