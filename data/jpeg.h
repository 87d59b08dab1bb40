// Decodes JPEG.
#ifndef DATA_JPEG_H_
#define DATA_JPEG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/rgb_image.h"

namespace ps {

// Returns true if `bytes` begins with the magic number of JPEG.
bool LooksLikeJpeg(absl::string_view bytes);

// Decodes grey, colour and CMYK images, baseline and progressive, and turns
// them as their EXIF data say. CMYK becomes RGB as in Pillow, without a profile
// of the inks. Errors: kDataLoss, with the decoder's reason, for a file that is
// damaged or cut, and for one whose many scans would take too long to
// decode; kInvalidArgument for more than kMaxImagePixels.
absl::StatusOr<RgbImage> DecodeJpeg(absl::string_view bytes);

}  // namespace ps

#endif  // DATA_JPEG_H_
