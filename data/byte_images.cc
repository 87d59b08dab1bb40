#include "data/byte_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "glog/logging.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kAugmentationPurpose = 0x6175676d656e74;  // "augment"

// The offset of the crop's top left corner in the image; at most the padding,
// in either direction.
struct Placement {
  int64_t top = 0;
  int64_t left = 0;
  bool flip = false;
};

class ByteImageDataset final : public Dataset {
 public:
  ByteImageDataset(ByteImages images, const std::vector<PixelScale>& scales,
                   const ImageAugmentation& augmentation)
      : images_(std::move(images)),
        augmentation_(augmentation),
        scaled_(scales.size()) {
    CHECK_EQ(images_.pixels.size(),
             images_.labels.size() * images_.shape.num_elements());
    CHECK_EQ(static_cast<int64_t>(scales.size()), images_.shape.channels);
    CHECK_GE(augmentation_.crop_padding, 0);
    if (scales.size() == 1 || scales.size() == 3) {
      converter_ = NewImageConverter(images_.shape, scales);
    }
    for (size_t channel = 0; channel < scales.size(); ++channel) {
      const PixelScale& scale = scales[channel];
      for (int p = 0; p < 256; ++p) {
        scaled_[channel][p] =
            static_cast<float>((p / 255.0 - scale.mean) / scale.deviation);
      }
    }
  }

  ExampleShape example_shape() const override { return images_.shape; }
  int64_t size() const override {
    return static_cast<int64_t>(images_.labels.size());
  }
  const ImageConverter* converter() const override { return converter_.get(); }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t epoch,
                    Batch* batch) const override {
    for (const int64_t number : numbers) {
      if (number < 0 || number >= size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("example ", number, " of ", size()));
      }
    }
    const int64_t num_elements = images_.shape.num_elements();
    batch->inputs.resize(numbers.size() * num_elements);
    batch->labels.resize(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      ReadImage(numbers[i], Place(numbers[i], epoch),
                &batch->inputs[i * num_elements]);
      batch->labels[i] = images_.labels[numbers[i]];
    }
    return absl::OkStatus();
  }

 private:
  Placement Place(int64_t number, int64_t epoch) const {
    Placement placement;
    if (augmentation_.crop_padding == 0 && !augmentation_.flip) {
      return placement;
    }
    RandomStream random(RandomKey(augmentation_.seed, kAugmentationPurpose,
                                  static_cast<uint64_t>(epoch),
                                  static_cast<uint64_t>(number)));
    const int64_t padding = augmentation_.crop_padding;
    placement.top = static_cast<int64_t>(random.Below(2 * padding + 1));
    placement.top -= padding;
    placement.left = static_cast<int64_t>(random.Below(2 * padding + 1));
    placement.left -= padding;
    placement.flip = augmentation_.flip && random.Below(2) == 1;
    return placement;
  }

  void ReadImage(int64_t number, const Placement& placement, float* out) const {
    const int64_t height = images_.shape.height;
    const int64_t width = images_.shape.width;
    const uint8_t* plane =
        &images_.pixels[number * images_.shape.num_elements()];
    // The columns of the result in [begin, end) lie inside the image.
    const int64_t begin = std::clamp<int64_t>(-placement.left, 0, width);
    const int64_t end =
        std::clamp<int64_t>(width - placement.left, begin, width);
    for (const std::array<float, 256>& scaled : scaled_) {
      for (int64_t y = 0; y < height; ++y, out += width) {
        const int64_t from = y + placement.top;
        if (from < 0 || from >= height) {
          std::fill_n(out, width, 0.0f);
          continue;
        }
        const uint8_t* row = plane + from * width + placement.left;
        std::fill_n(out, begin, 0.0f);
        for (int64_t x = begin; x < end; ++x) out[x] = scaled[row[x]];
        std::fill(out + end, out + width, 0.0f);
        if (placement.flip) std::reverse(out, out + width);
      }
      plane += height * width;
    }
  }

  const ByteImages images_;
  const ImageAugmentation augmentation_;
  std::vector<std::array<float, 256>> scaled_;  // [channels], by byte.
  std::unique_ptr<ImageConverter> converter_;
};

}  // namespace

std::vector<PixelScale> MeasurePixels(const ByteImages& images) {
  std::vector<PixelScale> scales(images.shape.channels);
  if (images.labels.empty()) return scales;
  const int64_t plane = images.shape.height * images.shape.width;
  for (int64_t channel = 0; channel < images.shape.channels; ++channel) {
    // 2^64 / 255^2 bytes would overflow these; no memory holds that many.
    uint64_t sum = 0;
    uint64_t sum_of_squares = 0;
    for (size_t i = 0; i < images.labels.size(); ++i) {
      const uint8_t* pixel =
          &images.pixels[(i * images.shape.channels + channel) * plane];
      for (int64_t k = 0; k < plane; ++k) {
        const uint64_t value = pixel[k];
        sum += value;
        sum_of_squares += value * value;
      }
    }
    const double count =
        static_cast<double>(images.labels.size()) * static_cast<double>(plane);
    const double mean = static_cast<double>(sum) / count;
    const double variance =
        static_cast<double>(sum_of_squares) / count - mean * mean;
    scales[channel].mean = mean / 255.0;
    if (variance > 0) scales[channel].deviation = std::sqrt(variance) / 255.0;
  }
  return scales;
}

void DescribeImages(const ByteImages& train, const ByteImages& test,
                    const std::vector<PixelScale>& scales,
                    DataDescription* description) {
  for (size_t channel = 0; channel < scales.size(); ++channel) {
    description->Add(absl::StrCat("scale of channel ", channel),
                     absl::StrCat("mean ", scales[channel].mean, ", deviation ",
                                  scales[channel].deviation));
  }
  const auto digest = [&](absl::string_view name,
                          const std::vector<uint8_t>& bytes) {
    description->AddDigest(
        name, absl::string_view(reinterpret_cast<const char*>(bytes.data()),
                                bytes.size()));
  };
  digest("training labels", train.labels);
  digest("training pixels", train.pixels);
  digest("test labels", test.labels);
  digest("test pixels", test.pixels);
}

std::unique_ptr<Dataset> NewByteImageDataset(
    ByteImages images, const std::vector<PixelScale>& scales,
    const ImageAugmentation& augmentation) {
  return std::make_unique<ByteImageDataset>(std::move(images), scales,
                                            augmentation);
}

}  // namespace ps
