// Lists of recordings with what is said in them.
#ifndef DATA_TRANSCRIPTS_H_
#define DATA_TRANSCRIPTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct Transcript {
  std::string path;         // Of the recording, from the list's folder.
  std::string text;         // Words with single spaces between them; not empty.
  int64_t num_samples = 0;  // Of the recording, once it has been read.
};

// A recording a line: its path, a tab, its words. Empty lines are passed over.
// Errors: kDataLoss, naming the line, for anything else; and for no recording
// at all.
absl::StatusOr<std::vector<Transcript>> ParseTranscripts(
    absl::string_view list);

}  // namespace ps

#endif  // DATA_TRANSCRIPTS_H_
