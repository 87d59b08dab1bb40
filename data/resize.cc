#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "glog/logging.h"

namespace ps {
namespace {

// The pixels of a line that contribute to one pixel of the result.
struct Taps {
  int64_t first = 0;  // The position in the line.
  std::vector<float> weights;
};

std::vector<Taps> MakeTaps(int64_t begin, int64_t size, int64_t result_size) {
  const double scale =
      static_cast<double>(size) / static_cast<double>(result_size);
  const double reach = std::max(scale, 1.0);
  std::vector<Taps> all(result_size);
  for (int64_t i = 0; i < result_size; ++i) {
    // Pixel j covers [j, j + 1), and its centre determines the weight.
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first =
        std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - reach)));
    const auto end = std::min<int64_t>(
        size, static_cast<int64_t>(std::ceil(center + reach)));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = first; j < end; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - center);
      weights.push_back(std::max(0.0, 1 - distance / reach));
      sum += weights.back();
    }
    all[i].first = begin + first;
    for (const double weight : weights) {
      all[i].weights.push_back(static_cast<float>(weight / sum));
    }
  }
  return all;
}

}  // namespace

void CropAndResize(const RgbImage& image, const Crop& crop,
                   const ResizeOptions& options, float* out) {
  CHECK(crop.width >= 1 && crop.height >= 1 && crop.left >= 0 &&
        crop.top >= 0 && crop.left + crop.width <= image.width &&
        crop.top + crop.height <= image.height);
  std::vector<Taps> columns = MakeTaps(crop.left, crop.width, options.width);
  if (options.flip) std::reverse(columns.begin(), columns.end());
  const std::vector<Taps> rows =
      MakeTaps(crop.top, crop.height, options.height);
  // First resizes the rows, to [crop.height, 3, options.width].
  const int64_t row_size = 3 * options.width;
  std::vector<float> narrow(crop.height * row_size);
  for (int64_t y = 0; y < crop.height; ++y) {
    const uint8_t* line = &image.pixels[(crop.top + y) * image.width * 3];
    float* result = &narrow[y * row_size];
    for (int64_t x = 0; x < options.width; ++x) {
      const uint8_t* pixel = line + 3 * columns[x].first;
      float red = 0, green = 0, blue = 0;
      for (const float weight : columns[x].weights) {
        red += weight * static_cast<float>(pixel[0]);
        green += weight * static_cast<float>(pixel[1]);
        blue += weight * static_cast<float>(pixel[2]);
        pixel += 3;
      }
      result[x] = red;
      result[options.width + x] = green;
      result[2 * options.width + x] = blue;
    }
  }
  const int64_t plane = options.height * options.width;
  std::vector<float> sums(row_size);
  for (int64_t y = 0; y < options.height; ++y) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    const float* line = &narrow[(rows[y].first - crop.top) * row_size];
    for (const float weight : rows[y].weights) {
      for (int64_t x = 0; x < row_size; ++x) sums[x] += weight * line[x];
      line += row_size;
    }
    for (int64_t channel = 0; channel < 3; ++channel) {
      std::copy_n(&sums[channel * options.width], options.width,
                  out + channel * plane + y * options.width);
    }
  }
}

}  // namespace ps
