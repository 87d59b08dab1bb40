// Decodes PNG.
#ifndef DATA_PNG_H_
#define DATA_PNG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/rgb_image.h"

namespace ps {

// True if `bytes` begin as every PNG file does.
bool LooksLikePng(absl::string_view bytes);

// Every kind of PNG: grey becomes colour, 16 bits become 8, and what is
// transparent is laid on white. Errors: kDataLoss with the decoder's reason if
// the file is damaged or cut; kInvalidArgument for more than kMaxImagePixels.
absl::StatusOr<RgbImage> DecodePng(absl::string_view bytes);

}  // namespace ps

#endif  // DATA_PNG_H_
