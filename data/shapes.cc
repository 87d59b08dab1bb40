// Implements the data set "shapes": generated colour images of any size, so
// that a model for photographs can be tried without any file.

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "data/dataset.h"
#include "data/image_converter.h"
#include "data/shape_image.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kShapesPurpose = 0x736861706573;  // "shapes"

// The split, a part of every key: no test image is a training image.
enum Split : uint64_t { kTrain = 0, kTest = 1 };

// The scale of the brightness, for about mean 0 and deviation 1.
constexpr float kMean = 0.5f;
constexpr float kDeviation = 0.25f;

// Draws the images on reading, since large images would not fit into memory.
class Shapes final : public Dataset {
 public:
  Shapes(const DatasetOptions& options, Split split, int64_t size)
      : key_(RandomKey(options.seed, kShapesPurpose,
                       static_cast<uint64_t>(split))),
        size_(size) {
    image_options_.side = options.config.shapes().side();
    image_options_.noise = options.config.shapes().noise();
    converter_ = NewImageConverter(
        example_shape(), std::vector<PixelScale>(3, {kMean, kDeviation}));
  }

  ExampleShape example_shape() const override {
    ExampleShape shape;
    shape.channels = 3;
    shape.height = image_options_.side;
    shape.width = image_options_.side;
    shape.num_classes = kNumShapes;
    return shape;
  }

  int64_t size() const override { return size_; }
  const ImageConverter* converter() const override { return converter_.get(); }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t /*epoch*/,
                    Batch* batch) const override {
    for (const int64_t number : numbers) {
      if (number < 0 || number >= size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("example ", number, " of ", size()));
      }
    }
    const int64_t num_elements = example_shape().num_elements();
    batch->inputs.resize(numbers.size() * num_elements);
    batch->labels.resize(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      RandomStream random(RandomKey(key_, static_cast<uint64_t>(numbers[i])));
      const int shape = static_cast<int>(random.Below(kNumShapes));
      DrawShape(shape, image_options_, random,
                &batch->inputs[i * num_elements]);
      batch->labels[i] = shape;
    }
    for (float& value : batch->inputs) value = (value - kMean) / kDeviation;
    return absl::OkStatus();
  }

 private:
  const uint64_t key_;
  const int64_t size_;
  ShapeImageOptions image_options_;
  std::unique_ptr<ImageConverter> converter_;
};

absl::StatusOr<DatasetPair> NewShapes(const DatasetOptions& options) {
  const ShapesConfig& config = options.config.shapes();
  DatasetPair pair;
  pair.train =
      std::make_unique<Shapes>(options, kTrain, config.train_examples());
  pair.test = std::make_unique<Shapes>(options, kTest, config.test_examples());
  return pair;
}

REGISTER_DATASET("shapes",
                 "generated images in colour, in 10 classes; needs no files",
                 NewShapes);

}  // namespace
}  // namespace ps
