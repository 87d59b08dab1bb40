// Decodes PNG.
#ifndef DATA_PNG_H_
#define DATA_PNG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/rgb_image.h"

namespace ps {

// Returns true if `bytes` begins with the magic number of PNG.
bool LooksLikePng(absl::string_view bytes);

// Decodes every kind of PNG: grey is converted to colour and 16 bits to 8,
// transparent pixels are blended with white, and the image is turned as its
// EXIF data say. Errors: kDataLoss, with the decoder's reason, if the file is
// damaged or cut; kInvalidArgument for more than kMaxImagePixels.
absl::StatusOr<RgbImage> DecodePng(absl::string_view bytes);

}  // namespace ps

#endif  // DATA_PNG_H_
