// Decodes the image formats that photographs come in.
#ifndef DATA_DECODE_IMAGE_H_
#define DATA_DECODE_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/rgb_image.h"

namespace ps {

// Bytes of a file that IsImage() looks at.
constexpr int64_t kImageMagicBytes = 8;

// True if a file that begins with these bytes is JPEG or PNG.
bool IsImage(absl::string_view beginning);

// By what `bytes` begin with, whatever the file's name is. Errors: those of
// DecodeJpeg and DecodePng; kDataLoss for anything else.
absl::StatusOr<RgbImage> DecodeImage(absl::string_view bytes);

}  // namespace ps

#endif  // DATA_DECODE_IMAGE_H_
