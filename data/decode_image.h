// Decodes the common image formats of photographs.
#ifndef DATA_DECODE_IMAGE_H_
#define DATA_DECODE_IMAGE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/rgb_image.h"

namespace ps {

// Checks that a file that begins with these bytes, its first kFileKindBytes or
// all of it, is JPEG or PNG. Errors: kDataLoss with its kind.
absl::Status CheckIsImage(absl::string_view beginning);

// Decodes an image. Detects the format from the beginning of `bytes`, not from
// the file's name. Errors: those of DecodeJpeg and DecodePng; kDataLoss for
// other formats.
absl::StatusOr<RgbImage> DecodeImage(absl::string_view bytes);

}  // namespace ps

#endif  // DATA_DECODE_IMAGE_H_
