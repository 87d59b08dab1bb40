#include "data/wav.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/file_kind.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// The lowest and highest rate, those of telephones and of the best recorders. A
// rate outside this range means damage, and would make windows of arbitrary
// length.
constexpr int64_t kMinSampleRate = 1000;
constexpr int64_t kMaxSampleRate = 768000;

constexpr size_t kRiffHeaderBytes = 12;
constexpr size_t kChunkHeaderBytes = 8;
constexpr size_t kFormatBytes = 16;
// Sizes from here on are unknown. Programs that write into a pipe write a size
// just below or above 2^31 (sox: 0x7ffff000 less the header, arecord:
// 0x80000000) or 2^32.
constexpr size_t kUnknownSize = 0x7fff0000;
constexpr int kPcm = 1;
// With this value the format is in the first two bytes of an identifier at
// kExtensibleFormatAt.
constexpr int kExtensible = 0xfffe;
constexpr size_t kExtensibleFormatAt = 24;

int Load16(absl::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]) | static_cast<uint8_t>(bytes[at + 1])
                                               << 8;
}

uint32_t Load32(absl::string_view bytes, size_t at) {
  return static_cast<uint32_t>(Load16(bytes, at)) |
         static_cast<uint32_t>(Load16(bytes, at + 2)) << 16;
}

absl::Status ParseFormat(absl::string_view chunk, Wav* wav) {
  if (chunk.size() < kFormatBytes) {
    return absl::DataLossError(
        absl::StrCat("its format chunk has ", chunk.size(),
                     " bytes; must have at least ", kFormatBytes));
  }
  int format = Load16(chunk, 0);
  if (format == kExtensible && chunk.size() >= kExtensibleFormatAt + 2) {
    format = Load16(chunk, kExtensibleFormatAt);
  }
  const int channels = Load16(chunk, 2);
  const int bits = Load16(chunk, 14);
  if (format != kPcm || channels != 1 || bits != 16) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", channels, channels == 1 ? " channel" : " channels",
                     " of ", bits, " bits in format ", format,
                     "; must be 1 channel of 16 bits in format 1 (PCM)"));
  }
  wav->sample_rate = Load32(chunk, 4);
  if (wav->sample_rate < kMinSampleRate || wav->sample_rate > kMaxSampleRate) {
    return absl::DataLossError(
        absl::StrCat("its sample rate is ", wav->sample_rate, "; must be from ",
                     kMinSampleRate, " to ", kMaxSampleRate, " a second"));
  }
  return absl::OkStatus();
}

absl::Status ParseSamples(absl::string_view chunk, Wav* wav) {
  if (chunk.size() % 2 != 0) {
    return absl::DataLossError(absl::StrCat(
        "its ", chunk.size(),
        " bytes of data are not a whole number of 16-bit samples"));
  }
  wav->samples.resize(chunk.size() / 2);
  for (size_t i = 0; i < wav->samples.size(); ++i) {
    wav->samples[i] = static_cast<int16_t>(Load16(chunk, 2 * i));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Wav> ParseWav(absl::string_view bytes) {
  if (bytes.size() < kRiffHeaderBytes || !absl::StartsWith(bytes, "RIFF") ||
      bytes.substr(8, 4) != "WAVE") {
    return absl::DataLossError(absl::StrCat(
        "not a WAV file", AsWhatItIs(bytes.substr(0, kFileKindBytes))));
  }
  // The file ends here, if the header's size was known when it was written.
  const size_t riff_end = size_t{8} + Load32(bytes, 4);
  const size_t file_size = bytes.size();
  bytes.remove_prefix(kRiffHeaderBytes);
  Wav wav;
  bool has_format = false;
  bool has_samples = false;
  while (bytes.size() >= kChunkHeaderBytes && !(has_format && has_samples)) {
    const absl::string_view name = bytes.substr(0, 4);
    size_t size = Load32(bytes, 4);
    bytes.remove_prefix(kChunkHeaderBytes);
    const bool unknown =
        size == 0
            ? riff_end <= file_size - bytes.size() || riff_end >= kUnknownSize
            : size >= kUnknownSize && size > bytes.size();
    // An incomplete last sample is dropped.
    if (name == "data" && unknown) size = bytes.size() / 2 * 2;
    if (size > bytes.size()) {
      return absl::DataLossError(absl::StrCat(
          "a chunk promises ", size, " bytes, but ", bytes.size(), " follow"));
    }
    const absl::string_view chunk = bytes.substr(0, size);
    if (name == "fmt " && !has_format) {
      PS_RETURN_IF_ERROR(ParseFormat(chunk, &wav));
      has_format = true;
    } else if (name == "data" && !has_samples) {
      PS_RETURN_IF_ERROR(ParseSamples(chunk, &wav));
      has_samples = true;
    }
    bytes.remove_prefix(std::min(size + size % 2, bytes.size()));
  }
  if (!has_format || !has_samples) {
    return absl::DataLossError(
        absl::StrCat("has no ", has_format ? "data" : "format", " chunk"));
  }
  return wav;
}

absl::StatusOr<Wav> ReadWav(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path));
  auto wav = ParseWav(bytes);
  if (!wav.ok()) return Annotate(wav.status(), path);
  return wav;
}

}  // namespace ps
