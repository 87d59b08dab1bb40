// Parses WAV files: uncompressed sound.
//
// The format (IBM and Microsoft, "Multimedia Programming Interface and Data
// Specifications 1.0", 1991): "RIFF", a size, "WAVE", then chunks. A chunk is a
// name of four letters, a size and that many bytes, padded to an even number.
// Integers are little-endian. A program that writes into a pipe cannot go back
// to write sizes, and leaves 0 or a number as large as there is.
#ifndef DATA_WAV_H_
#define DATA_WAV_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct Wav {
  int64_t sample_rate = 0;  // Samples per second; at least 1.
  std::vector<int16_t> samples;
};

// Parses one channel of 16-bit PCM; chunks may be in any order, and unknown
// ones are skipped. Data of unknown size extend to the end. A header alone
// never causes an allocation. Errors: kDataLoss for damaged or cut data;
// kInvalidArgument for other kinds of sound, saying which.
absl::StatusOr<Wav> ParseWav(absl::string_view bytes);

// Like ParseWav, for a file, with its path in every error. Errors: also those
// of ReadFile.
absl::StatusOr<Wav> ReadWav(const std::string& path);

}  // namespace ps

#endif  // DATA_WAV_H_
