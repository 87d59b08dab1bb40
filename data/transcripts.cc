#include "data/transcripts.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ps {

absl::StatusOr<std::vector<Transcript>> ParseTranscripts(
    absl::string_view list) {
  std::vector<Transcript> transcripts;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(list, '\n')) {
    ++line_number;
    // Files from other systems may have carriage returns.
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line.empty()) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    if (fields.size() != 2 || fields[0].empty()) {
      return absl::DataLossError(
          absl::StrCat("line ", line_number,
                       " must be a recording's path, a tab and its words"));
    }
    Transcript transcript;
    transcript.path = std::string(fields[0]);
    transcript.text = std::string(fields[1]);
    absl::RemoveExtraAsciiWhitespace(&transcript.text);
    transcripts.push_back(std::move(transcript));
  }
  if (transcripts.empty()) {
    return absl::DataLossError("names no recording");
  }
  return transcripts;
}

}  // namespace ps
