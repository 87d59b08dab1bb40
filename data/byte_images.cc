#include "data/byte_images.h"

#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace ps {
namespace {

class ByteImageDataset final : public Dataset {
 public:
  ByteImageDataset(ByteImages images, const PixelScale& scale)
      : images_(std::move(images)) {
    CHECK_EQ(images_.pixels.size(),
             images_.labels.size() * images_.shape.num_elements());
    for (size_t p = 0; p < scaled_.size(); ++p) {
      scaled_[p] =
          static_cast<float>((p / 255.0 - scale.mean) / scale.deviation);
    }
  }

  ExampleShape example_shape() const override { return images_.shape; }
  int64_t size() const override {
    return static_cast<int64_t>(images_.labels.size());
  }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t /*epoch*/,
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
    float* input = batch->inputs.data();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint8_t* pixel = &images_.pixels[numbers[i] * num_elements];
      for (int64_t k = 0; k < num_elements; ++k) *input++ = scaled_[pixel[k]];
      batch->labels[i] = images_.labels[numbers[i]];
    }
    return absl::OkStatus();
  }

 private:
  const ByteImages images_;
  std::array<float, 256> scaled_;  // By byte.
};

}  // namespace

PixelScale MeasurePixels(absl::Span<const uint8_t> pixels) {
  // 2^64 / 255^2 bytes would overflow these; no memory holds as many.
  uint64_t sum = 0;
  uint64_t sum_of_squares = 0;
  for (const uint64_t pixel : pixels) {
    sum += pixel;
    sum_of_squares += pixel * pixel;
  }
  PixelScale scale;
  if (pixels.empty()) return scale;
  const double mean = static_cast<double>(sum) / pixels.size();
  const double variance =
      static_cast<double>(sum_of_squares) / pixels.size() - mean * mean;
  scale.mean = mean / 255.0;
  if (variance > 0) scale.deviation = std::sqrt(variance) / 255.0;
  return scale;
}

std::unique_ptr<Dataset> NewByteImageDataset(ByteImages images,
                                             const PixelScale& scale) {
  return std::make_unique<ByteImageDataset>(std::move(images), scale);
}

}  // namespace ps
