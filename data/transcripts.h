// Parses lists of recordings and their transcripts.
#ifndef DATA_TRANSCRIPTS_H_
#define DATA_TRANSCRIPTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct Transcript {
  // The path of the recording, relative to the list's folder.
  std::string path;
  std::string text;         // Words with single spaces between them, if any.
  int64_t num_samples = 0;  // Set once the recording has been read.
};

// Parses one recording per line: its path, a tab, its words; no words for a
// recording of noise. Empty lines are skipped. Errors: kDataLoss, naming the
// line, for a line of any other form; kDataLoss also if there is no recording
// at all.
absl::StatusOr<std::vector<Transcript>> ParseTranscripts(
    absl::string_view list);

}  // namespace ps

#endif  // DATA_TRANSCRIPTS_H_
