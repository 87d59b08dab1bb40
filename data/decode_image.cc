#include "data/decode_image.h"

#include "absl/status/status.h"
#include "data/jpeg.h"
#include "data/png.h"

namespace ps {

bool IsImage(absl::string_view beginning) {
  return LooksLikeJpeg(beginning) || LooksLikePng(beginning);
}

absl::StatusOr<RgbImage> DecodeImage(absl::string_view bytes) {
  if (LooksLikeJpeg(bytes)) return DecodeJpeg(bytes);
  if (LooksLikePng(bytes)) return DecodePng(bytes);
  return absl::DataLossError("is neither JPEG nor PNG");
}

}  // namespace ps
