// Implements the data set "digits": generated images that resemble handwritten
// digits, so that a job can be tried without any file.

#include <algorithm>
#include <utility>
#include <vector>

#include "common/random.h"
#include "data/byte_images.h"
#include "data/dataset.h"
#include "data/digit_image.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kDigitsPurpose = 0x646967697473;  // "digits"

// The split, a part of every key: no test image is a training image.
enum Split : uint64_t { kTrain = 0, kTest = 1 };

// Draws the images. Example i depends on (seed, split, i) alone, so a larger
// set begins with the images of a smaller one.
ByteImages DrawDigits(const DatasetOptions& options, Split split,
                      int64_t size) {
  DigitImageOptions image_options;
  image_options.noise = options.config.digits().noise();
  image_options.distortion = options.config.digits().distortion();
  ByteImages images;
  images.shape.channels = 1;
  images.shape.height = kDigitImageSide;
  images.shape.width = kDigitImageSide;
  images.shape.num_classes = 10;
  images.pixels.resize(size * images.shape.num_elements());
  images.labels.resize(size);
  auto pixel = images.pixels.begin();
  for (int64_t i = 0; i < size; ++i) {
    RandomStream random(RandomKey(options.seed, kDigitsPurpose,
                                  static_cast<uint64_t>(split),
                                  static_cast<uint64_t>(i)));
    const int digit = static_cast<int>(random.Below(10));
    const DigitImage image = DrawDigit(digit, image_options, random);
    pixel = std::copy(image.begin(), image.end(), pixel);
    images.labels[i] = static_cast<uint8_t>(digit);
  }
  return images;
}

absl::StatusOr<DatasetPair> NewDigits(const DatasetOptions& options) {
  const DigitsConfig& digits = options.config.digits();
  ByteImages train = DrawDigits(options, kTrain, digits.train_examples());
  ByteImages test = DrawDigits(options, kTest, digits.test_examples());
  const std::vector<PixelScale> scales = MeasurePixels(train);
  DatasetPair pair;
  pair.train = NewByteImageDataset(std::move(train), scales);
  pair.test = NewByteImageDataset(std::move(test), scales);
  return pair;
}

REGISTER_DATASET("digits",
                 "generated images of handwritten digits; needs no files",
                 NewDigits);

}  // namespace
}  // namespace ps
