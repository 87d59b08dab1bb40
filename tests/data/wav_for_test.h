// Makes WAV files for tests.
#ifndef TESTS_DATA_WAV_FOR_TEST_H_
#define TESTS_DATA_WAV_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ps {

// The lowest `bytes` bytes of `value`, the lowest first.
inline std::string LittleEndian(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  return text;
}

inline std::string WavChunk(absl::string_view name,
                            const std::string& contents) {
  return absl::StrCat(name, LittleEndian(contents.size(), 4), contents,
                      contents.size() % 2 == 1 ? std::string(1, '\0') : "");
}

struct WavFormat {
  uint32_t format = 1;
  uint32_t channels = 1;
  uint32_t sample_rate = 16000;
  uint32_t bits = 16;
};

inline std::string WavFormatChunk(const WavFormat& format) {
  const uint32_t frame_bytes = format.channels * format.bits / 8;
  return WavChunk(
      "fmt ", LittleEndian(format.format, 2) +
                  LittleEndian(format.channels, 2) +
                  LittleEndian(format.sample_rate, 4) +
                  LittleEndian(format.sample_rate * frame_bytes, 4) +
                  LittleEndian(frame_bytes, 2) + LittleEndian(format.bits, 2));
}

inline std::string WavDataChunk(const std::vector<int16_t>& samples) {
  std::string bytes;
  for (const int16_t sample : samples) {
    bytes += LittleEndian(static_cast<uint16_t>(sample), 2);
  }
  return WavChunk("data", bytes);
}

// A file with these chunks.
inline std::string RiffFile(const std::string& chunks) {
  return absl::StrCat("RIFF", LittleEndian(chunks.size() + 4, 4), "WAVE",
                      chunks);
}

inline std::string WavFile(const std::vector<int16_t>& samples,
                           uint32_t sample_rate = 16000) {
  WavFormat format;
  format.sample_rate = sample_rate;
  return RiffFile(WavFormatChunk(format) + WavDataChunk(samples));
}

}  // namespace ps

#endif  // TESTS_DATA_WAV_FOR_TEST_H_
