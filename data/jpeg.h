// Decodes JPEG.
#ifndef DATA_JPEG_H_
#define DATA_JPEG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/rgb_image.h"

namespace ps {

// True if `bytes` begin as every JPEG file does.
bool LooksLikeJpeg(absl::string_view bytes);

// Grey and colour, baseline and progressive. Errors: kDataLoss with the
// decoder's reason if the file is damaged, cut, or made of so many scans that
// decoding would take for ever; kInvalidArgument for CMYK and for more than
// kMaxImagePixels.
absl::StatusOr<RgbImage> DecodeJpeg(absl::string_view bytes);

}  // namespace ps

#endif  // DATA_JPEG_H_
