#include "data/png.h"

#include <png.h>
#include <setjmp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/exif.h"

namespace ps {
namespace {

constexpr int64_t kRgbaBytes = 4;

// The state of the decoder. libpng reports errors through a function that must
// not return, so this is allocated outside the scope that longjmp() leaves.
struct Decoding {
  absl::string_view rest;  // The unread rest of the file.
  char message[256] = "";  // The first error.
  std::vector<uint8_t> rgba;
  std::vector<png_bytep> rows;
  int64_t width = 0;
  int64_t height = 0;
  int orientation = 1;
};

void OnError(png_structp png, png_const_charp message) {
  auto* decoding = static_cast<Decoding*>(png_get_error_ptr(png));
  std::strncpy(decoding->message, message, sizeof(decoding->message) - 1);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep out, size_t size) {
  auto* decoding = static_cast<Decoding*>(png_get_io_ptr(png));
  if (size > decoding->rest.size()) png_error(png, "the file ends too early");
  std::memcpy(out, decoding->rest.data(), size);
  decoding->rest.remove_prefix(size);
}

// Converts every format to red, green, blue and opacity of 8 bits each.
void SetTransformations(png_structp png) {
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
  png_set_interlace_handling(png);
}

// Returns false on an error, which decoding->message describes.
bool Decode(png_structp png, png_infop info, Decoding* decoding) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, decoding, ReadBytes);
  // Limits unpacked text and other chunks; no photograph needs more.
  png_set_chunk_malloc_max(png, 1 << 24);
  png_read_info(png, info);
  decoding->width = png_get_image_width(png, info);
  decoding->height = png_get_image_height(png, info);
  if (decoding->width * decoding->height > kMaxImagePixels) return true;
  SetTransformations(png);
  png_read_update_info(png, info);
  const int64_t row_bytes = decoding->width * kRgbaBytes;
  if (static_cast<int64_t>(png_get_rowbytes(png, info)) != row_bytes) {
    png_error(png, "its kind of pixels is unknown");
  }
  decoding->rgba.resize(row_bytes * decoding->height);
  decoding->rows.resize(decoding->height);
  for (int64_t row = 0; row < decoding->height; ++row) {
    decoding->rows[row] = &decoding->rgba[row * row_bytes];
  }
  png_read_image(png, decoding->rows.data());
  png_read_end(png, info);
  png_uint_32 exif_bytes = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png, info, &exif_bytes, &exif) != 0) {
    decoding->orientation = ExifOrientation(
        absl::string_view(reinterpret_cast<const char*>(exif), exif_bytes));
  }
  return true;
}

RgbImage OnWhite(const Decoding& decoding) {
  RgbImage image;
  image.width = decoding.width;
  image.height = decoding.height;
  const int64_t num_pixels = image.width * image.height;
  image.pixels.resize(num_pixels * 3);
  for (int64_t i = 0; i < num_pixels; ++i) {
    const uint8_t* pixel = &decoding.rgba[i * kRgbaBytes];
    const int opacity = pixel[3];
    for (int channel = 0; channel < 3; ++channel) {
      // The blend is rounded to the nearest.
      image.pixels[3 * i + channel] = static_cast<uint8_t>(
          (pixel[channel] * opacity + 255 * (255 - opacity) + 127) / 255);
    }
  }
  return image;
}

}  // namespace

bool LooksLikePng(absl::string_view bytes) {
  return absl::StartsWith(bytes, "\x89PNG\r\n\x1a\n");
}

absl::StatusOr<RgbImage> DecodePng(absl::string_view bytes) {
  Decoding decoding;
  decoding.rest = bytes;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoding,
                                           OnError, OnWarning);
  if (png == nullptr)
    return absl::ResourceExhaustedError("libpng has no memory");
  png_infop info = png_create_info_struct(png);
  const bool decoded = info != nullptr && Decode(png, info, &decoding);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!decoded) return absl::DataLossError(decoding.message);
  if (decoding.width * decoding.height > kMaxImagePixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", decoding.width, " x ", decoding.height,
                     " pixels; must have at most ", kMaxImagePixels));
  }
  return Upright(OnWhite(decoding), decoding.orientation);
}

}  // namespace ps
