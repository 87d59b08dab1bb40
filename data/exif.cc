#include "data/exif.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"

namespace ps {
namespace {

constexpr uint32_t kOrientationTag = 0x112;
constexpr uint32_t kShort = 3;
constexpr size_t kEntryBytes = 12;

// Reads the numbers of a TIFF file, in its byte order.
class Tiff {
 public:
  explicit Tiff(absl::string_view bytes)
      : bytes_(bytes), big_endian_(absl::StartsWith(bytes, "MM")) {}

  // Returns nullopt if the file is too short.
  std::optional<uint32_t> Number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t number = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t place = big_endian_ ? at + i : at + size - 1 - i;
      number = number << 8 | static_cast<uint8_t>(bytes_[place]);
    }
    return number;
  }

 private:
  const absl::string_view bytes_;
  const bool big_endian_;
};

}  // namespace

int ExifOrientation(absl::string_view tiff) {
  if (!absl::StartsWith(tiff, absl::string_view("II*\0", 4)) &&
      !absl::StartsWith(tiff, absl::string_view("MM\0*", 4))) {
    return 1;
  }
  const Tiff reader(tiff);
  const std::optional<uint32_t> directory = reader.Number(4, 4);
  if (!directory.has_value()) return 1;
  const uint32_t count = reader.Number(*directory, 2).value_or(0);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = size_t{*directory} + 2 + i * kEntryBytes;
    if (reader.Number(entry, 2) != kOrientationTag) continue;
    const uint32_t value = reader.Number(entry + 8, 2).value_or(1);
    const bool valid =
        reader.Number(entry + 2, 2) == kShort && value >= 1 && value <= 8;
    return valid ? static_cast<int>(value) : 1;
  }
  return 1;
}

RgbImage Upright(RgbImage stored, int orientation) {
  if (orientation == 1) return stored;
  const bool turned = orientation >= 5;  // Rows are stored as columns.
  const bool from_right = orientation == 2 || orientation == 3 ||
                          orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 ||
                           orientation == 6 || orientation == 7;
  RgbImage upright;
  upright.width = turned ? stored.height : stored.width;
  upright.height = turned ? stored.width : stored.height;
  upright.pixels.resize(stored.pixels.size());
  uint8_t* out = upright.pixels.data();
  for (int64_t y = 0; y < upright.height; ++y) {
    for (int64_t x = 0; x < upright.width; ++x, out += 3) {
      int64_t column = turned ? y : x;
      int64_t row = turned ? x : y;
      if (from_right) column = stored.width - 1 - column;
      if (from_bottom) row = stored.height - 1 - row;
      std::copy_n(&stored.pixels[3 * (row * stored.width + column)], 3, out);
    }
  }
  return upright;
}

}  // namespace ps
