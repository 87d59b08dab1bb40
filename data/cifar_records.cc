#include "data/cifar_records.h"

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

constexpr int64_t kPixelBytes = 3 * kCifarSide * kCifarSide;

}  // namespace

ByteImages NoCifarImages(int64_t num_classes) {
  ByteImages images;
  images.shape.channels = 3;
  images.shape.height = kCifarSide;
  images.shape.width = kCifarSide;
  images.shape.num_classes = num_classes;
  return images;
}

absl::Status AppendCifarRecords(absl::string_view bytes, int64_t label_bytes,
                                ByteImages* images) {
  const int64_t record_bytes = label_bytes + kPixelBytes;
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (size == 0) return absl::DataLossError("is empty");
  if (size % record_bytes != 0) {
    return absl::DataLossError(
        absl::StrCat("record ", size / record_bytes, " has ",
                     size % record_bytes, " bytes; must have ", record_bytes));
  }
  for (int64_t at = 0; at < size; at += record_bytes) {
    const auto label = static_cast<uint8_t>(bytes[at + label_bytes - 1]);
    if (int64_t{label} >= images->shape.num_classes) {
      return absl::DataLossError(absl::StrCat(
          "record ", at / record_bytes, " has label ", static_cast<int>(label),
          "; must be at most ", images->shape.num_classes - 1));
    }
    images->labels.push_back(label);
    const auto pixels = bytes.begin() + at + label_bytes;
    images->pixels.insert(images->pixels.end(), pixels, pixels + kPixelBytes);
  }
  return absl::OkStatus();
}

}  // namespace ps
