#include "data/decode_image.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_kind.h"
#include "data/jpeg.h"
#include "data/png.h"

namespace ps {

absl::Status CheckIsImage(absl::string_view beginning) {
  if (LooksLikeJpeg(beginning) || LooksLikePng(beginning)) {
    return absl::OkStatus();
  }
  if (absl::StartsWith(beginning, "\x89PNG")) {
    return absl::DataLossError(
        "is a PNG image whose first bytes are damaged, as by a transfer as "
        "text");
  }
  return absl::DataLossError(
      absl::StrCat("is neither JPEG nor PNG", AsWhatItIs(beginning)));
}

absl::StatusOr<RgbImage> DecodeImage(absl::string_view bytes) {
  if (LooksLikeJpeg(bytes)) return DecodeJpeg(bytes);
  if (LooksLikePng(bytes)) return DecodePng(bytes);
  return CheckIsImage(bytes.substr(0, kFileKindBytes));
}

}  // namespace ps
