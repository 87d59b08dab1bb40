#include "data/random_crop.h"

#include <algorithm>
#include <cmath>

namespace ps {
namespace {

constexpr int kTries = 10;
constexpr double kLargestAspectRatio = 4.0 / 3.0;

}  // namespace

Crop RandomCrop(int64_t width, int64_t height, double min_area,
                RandomStream* random) {
  const double area = static_cast<double>(width) * static_cast<double>(height);
  const double log_ratio = std::log(kLargestAspectRatio);
  for (int i = 0; i < kTries; ++i) {
    const double crop_area = area * random->Uniform(min_area, 1);
    const double ratio = std::exp(random->Uniform(-log_ratio, log_ratio));
    Crop crop;
    crop.width = std::llround(std::sqrt(crop_area * ratio));
    crop.height = std::llround(std::sqrt(crop_area / ratio));
    if (crop.width < 1 || crop.height < 1 || crop.width > width ||
        crop.height > height) {
      continue;
    }
    crop.left = static_cast<int64_t>(random->Below(width - crop.width + 1));
    crop.top = static_cast<int64_t>(random->Below(height - crop.height + 1));
    return crop;
  }
  return CenterCrop(width, height, 1, 1);
}

Crop CenterCrop(int64_t width, int64_t height, int64_t side, int64_t resize) {
  const double part = static_cast<double>(side) / static_cast<double>(resize);
  const int64_t shorter = std::min(width, height);
  Crop crop;
  crop.width = std::clamp<int64_t>(
      std::llround(part * static_cast<double>(shorter)), 1, shorter);
  crop.height = crop.width;
  crop.left = (width - crop.width) / 2;
  crop.top = (height - crop.height) / 2;
  return crop;
}

}  // namespace ps
