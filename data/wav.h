// WAV files: sound as numbers.
//
// The format (IBM and Microsoft, "Multimedia Programming Interface and Data
// Specifications 1.0", 1991): "RIFF", a size, "WAVE", then chunks of a name of
// four letters, a size and so many bytes, filled up to an even number. Whole
// numbers are little-endian.
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

// One channel of 16-bit PCM; chunks in any order, unknown ones are passed over.
// Allocates nothing on the word of a header. Errors: kDataLoss for what is
// damaged or cut; kInvalidArgument for other kinds of sound, saying which.
absl::StatusOr<Wav> ParseWav(absl::string_view bytes);

// The same from a file, with its path in every error. Errors: also ReadFile's.
absl::StatusOr<Wav> ReadWav(const std::string& path);

}  // namespace ps

#endif  // DATA_WAV_H_
