#include "data/transcripts.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ps {

absl::StatusOr<std::vector<Transcript>> ParseTranscripts(
    absl::string_view list) {
  std::vector<Transcript> transcripts;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(list, '\n')) {
    ++line_number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const size_t tab = line.find('\t');
    // Files from other systems may have carriage returns.
    const absl::string_view words =
        tab == absl::string_view::npos
            ? ""
            : absl::StripAsciiWhitespace(line.substr(tab + 1));
    if (tab == absl::string_view::npos || tab == 0 ||
        absl::StrContains(words, '\t')) {
      return absl::DataLossError(
          absl::StrCat("line ", line_number,
                       " must be a recording's path, a tab and its words"));
    }
    Transcript transcript;
    transcript.path = std::string(line.substr(0, tab));
    transcript.text = std::string(words);
    absl::RemoveExtraAsciiWhitespace(&transcript.text);
    transcripts.push_back(std::move(transcript));
  }
  if (transcripts.empty()) {
    return absl::DataLossError("names no recording");
  }
  return transcripts;
}

}  // namespace ps
