#include "tests/data/encode_image_for_test.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
// Must come after stdio.h, which it needs.
#include <jpeglib.h>

#include "glog/logging.h"

namespace ps {
namespace {

void AppendBytes(png_structp png, png_bytep bytes, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<char*>(bytes), size);
}

int ColorType(int channels) {
  switch (channels) {
    case 1:
      return PNG_COLOR_TYPE_GRAY;
    case 2:
      return PNG_COLOR_TYPE_GRAY_ALPHA;
    case 3:
      return PNG_COLOR_TYPE_RGB;
    default:
      return PNG_COLOR_TYPE_RGB_ALPHA;
  }
}

struct PngFormat {
  int width;
  int height;
  int bits;
  int color_type;
  int interlace;
  const std::vector<uint32_t>* palette;
  std::string exif;
};

std::string WritePng(const std::vector<uint8_t>& pixels,
                     const PngFormat& format) {
  std::string file;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, AppendBytes, nullptr);
  png_set_IHDR(png, info, format.width, format.height, format.bits,
               format.color_type, format.interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (format.palette != nullptr) {
    std::vector<png_color> colors;
    std::vector<png_byte> opacities;
    for (const uint32_t color : *format.palette) {
      colors.push_back({static_cast<png_byte>(color >> 24),
                        static_cast<png_byte>(color >> 16),
                        static_cast<png_byte>(color >> 8)});
      opacities.push_back(static_cast<png_byte>(color));
    }
    png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
    png_set_tRNS(png, info, opacities.data(),
                 static_cast<int>(opacities.size()), nullptr);
  }
  std::string exif = format.exif;
  if (!exif.empty()) {
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()),
                   reinterpret_cast<png_bytep>(exif.data()));
  }
  png_write_info(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  CHECK_EQ(pixels.size(), row_bytes * format.height);
  std::vector<uint8_t> copy = pixels;
  std::vector<png_bytep> rows;
  for (int y = 0; y < format.height; ++y) rows.push_back(&copy[y * row_bytes]);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

// Each coefficient separately, with its two lowest bits in their own scans.
std::vector<jpeg_scan_info> ManyScans() {
  std::vector<jpeg_scan_info> scans;
  for (const int low : {2, 1, 0}) {
    for (int coefficient = 0; coefficient < 64; ++coefficient) {
      jpeg_scan_info scan = {};
      scan.comps_in_scan = 1;
      scan.Ss = scan.Se = coefficient;
      scan.Ah = low == 2 ? 0 : low + 1;
      scan.Al = low;
      scans.push_back(scan);
    }
  }
  return scans;
}

}  // namespace

std::string ExifForTest(int orientation) {
  std::string exif("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19);
  exif.push_back(static_cast<char>(orientation));
  return exif + std::string(6, '\0');
}

std::string EncodeJpeg(const std::vector<uint8_t>& pixels,
                       const EncodeOptions& options) {
  CHECK_EQ(static_cast<int>(pixels.size()),
           options.width * options.height * options.channels);
  jpeg_compress_struct encoder = {};
  jpeg_error_mgr errors;
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;  // NOLINT(runtime/int): libjpeg's type.
  jpeg_mem_dest(&encoder, &buffer, &size);
  encoder.image_width = options.width;
  encoder.image_height = options.height;
  encoder.input_components = options.channels;
  encoder.in_color_space = options.channels == 1   ? JCS_GRAYSCALE
                           : options.channels == 3 ? JCS_RGB
                                                   : JCS_CMYK;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, 95, TRUE);
  if (options.progressive) jpeg_simple_progression(&encoder);
  const std::vector<jpeg_scan_info> scans = ManyScans();
  if (options.many_scans) {
    encoder.scan_info = scans.data();
    encoder.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&encoder, TRUE);
  if (!options.exif.empty()) {
    const std::string marker = std::string("Exif\0\0", 6) + options.exif;
    jpeg_write_marker(&encoder, JPEG_APP0 + 1,
                      reinterpret_cast<const JOCTET*>(marker.data()),
                      static_cast<unsigned>(marker.size()));
  }
  while (encoder.next_scanline < encoder.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(
        &pixels[encoder.next_scanline * options.width * options.channels]);
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  std::string file(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&encoder);
  free(buffer);
  return file;
}

std::string EncodePng(const std::vector<uint8_t>& pixels,
                      const EncodeOptions& options) {
  return WritePng(
      pixels,
      {options.width, options.height, options.bits, ColorType(options.channels),
       options.progressive ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, nullptr,
       options.exif});
}

std::string EncodePalettePng(const std::vector<uint8_t>& pixels,
                             const std::vector<uint32_t>& palette, int width,
                             int height) {
  return WritePng(pixels, {width, height, 8, PNG_COLOR_TYPE_PALETTE,
                           PNG_INTERLACE_NONE, &palette, ""});
}

}  // namespace ps
