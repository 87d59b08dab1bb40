#include "data/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
// This must come first: jpeglib.h needs FILE and size_t.
#include <jpeglib.h>
// This must come after jpeglib.h: it has the codes of its messages.
#include <jerror.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/exif.h"

namespace ps {
namespace {

// The most scans of a file. A scan takes few bytes in the file but a pass over
// the whole image; encoders write about ten.
constexpr int kMostScans = 100;

// This precedes the EXIF data in a marker of type APP1.
constexpr absl::string_view kExif("Exif\0\0", 6);

// libjpeg reports errors through functions that must not return.
struct ErrorHandler {
  // This is the first member, because libjpeg has a pointer to it.
  jpeg_error_mgr manager;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
};

// The allocations, outside the scope that longjmp() leaves.
struct Decoded {
  RgbImage image;
  int orientation = 1;
  std::vector<uint8_t> cmyk;  // One row.
};

void OnError(j_common_ptr decoder) {
  auto* handler = reinterpret_cast<ErrorHandler*>(decoder->err);
  handler->manager.format_message(decoder, handler->message);
  longjmp(handler->jump, 1);
}

// Handles a message of libjpeg. Levels below 0 are warnings, where libjpeg
// would fill missing parts with grey. Messages that do not affect the image are
// ignored.
void OnMessage(j_common_ptr decoder, int level) {
  if (level >= 0) return;
  switch (decoder->err->msg_code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      OnError(decoder);
  }
}

void OnProgress(j_common_ptr decoder) {
  if (reinterpret_cast<j_decompress_ptr>(decoder)->input_scan_number <=
      kMostScans) {
    return;
  }
  auto* handler = reinterpret_cast<ErrorHandler*>(decoder->err);
  snprintf(handler->message, sizeof(handler->message), "has more than %d scans",
           kMostScans);
  longjmp(handler->jump, 1);
}

int OrientationOf(const jpeg_decompress_struct& decoder) {
  for (auto marker = decoder.marker_list; marker != nullptr;
       marker = marker->next) {
    const absl::string_view data(reinterpret_cast<const char*>(marker->data),
                                 marker->data_length);
    if (absl::StartsWith(data, kExif)) {
      return ExifOrientation(data.substr(kExif.size()));
    }
  }
  return 1;
}

// Returns a b / 255, rounded to the nearest, as in Pillow.
int Product255(int a, int b) {
  const int product = a * b + 128;
  return (product + (product >> 8)) >> 8;
}

// Converts CMYK, which JPEG files hold inverted: 255 is no ink. Pillow takes
// the ink of each colour from the light that black leaves (Convert.c,
// cmyk2rgb).
void CmykToRgb(const std::vector<uint8_t>& cmyk, uint8_t* rgb) {
  for (size_t i = 0; i < cmyk.size(); i += 4) {
    const int light = cmyk[i + 3];
    for (int channel = 0; channel < 3; ++channel) {
      *rgb++ = static_cast<uint8_t>(light -
                                    Product255(255 - cmyk[i + channel], light));
    }
  }
}

// Decodes a file. Must have no objects with destructors, since longjmp() would
// skip them. If libjpeg finds an error, handler->message describes it and the
// result is OK.
absl::Status DecodeInto(absl::string_view bytes, ErrorHandler* handler,
                        Decoded* decoded) {
  RgbImage* const image = &decoded->image;
  jpeg_decompress_struct decoder = {};
  decoder.err = jpeg_std_error(&handler->manager);
  handler->manager.error_exit = OnError;
  handler->manager.emit_message = OnMessage;
  if (setjmp(handler->jump) != 0) {
    jpeg_destroy_decompress(&decoder);
    return absl::OkStatus();
  }
  jpeg_create_decompress(&decoder);
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = OnProgress;
  decoder.progress = &progress;
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_save_markers(&decoder, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&decoder, TRUE);
  decoded->orientation = OrientationOf(decoder);
  image->width = decoder.image_width;
  image->height = decoder.image_height;
  if (image->width * image->height > kMaxImagePixels) {
    jpeg_destroy_decompress(&decoder);
    return absl::InvalidArgumentError(
        absl::StrCat("has ", image->width, " x ", image->height,
                     " pixels; must have at most ", kMaxImagePixels));
  }
  const bool is_cmyk = decoder.jpeg_color_space == JCS_CMYK ||
                       decoder.jpeg_color_space == JCS_YCCK;
  decoder.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&decoder);
  image->pixels.resize(image->width * image->height * 3);
  if (is_cmyk) decoded->cmyk.resize(image->width * 4);
  while (decoder.output_scanline < decoder.output_height) {
    uint8_t* const rgb =
        &image->pixels[decoder.output_scanline * image->width * 3];
    JSAMPROW row = is_cmyk ? decoded->cmyk.data() : rgb;
    jpeg_read_scanlines(&decoder, &row, 1);
    if (is_cmyk) CmykToRgb(decoded->cmyk, rgb);
  }
  jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeJpeg(absl::string_view bytes) {
  return absl::StartsWith(bytes, "\xff\xd8\xff");
}

absl::StatusOr<RgbImage> DecodeJpeg(absl::string_view bytes) {
  ErrorHandler handler;
  Decoded decoded;
  const absl::Status status = DecodeInto(bytes, &handler, &decoded);
  if (!status.ok()) return status;
  if (handler.message[0] != '\0') return absl::DataLossError(handler.message);
  return Upright(std::move(decoded.image), decoded.orientation);
}

}  // namespace ps
