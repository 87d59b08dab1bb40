#include "models/described/layer_shape.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

std::string Extent(int64_t extent) {
  return extent == 0 ? "?" : absl::StrCat(extent);
}

bool MayBeEqual(int64_t a, int64_t b) { return a == 0 || b == 0 || a == b; }

}  // namespace

int64_t LayerShape::num_elements() const {
  if (kind != Kind::kImages) return channels;
  const double product = static_cast<double>(channels) *
                         static_cast<double>(height) *
                         static_cast<double>(width);
  // Products are exact below this.
  constexpr double kExact = 0x1p53;
  return product > -kExact && product < kExact
             ? static_cast<int64_t>(product)
             : std::numeric_limits<int64_t>::max();
}

LayerShape InputShape(const ExampleShape& example) {
  LayerShape shape;
  switch (example.task) {
    case Task::kImages:
      shape.kind = LayerShape::Kind::kImages;
      shape.channels = example.channels;
      shape.height = example.height;
      shape.width = example.width;
      break;
    case Task::kWords:
    case Task::kCharacters:
    case Task::kTexts:
      shape.kind = LayerShape::Kind::kTokens;
      break;
    case Task::kSpeech:
      shape = LayerShape::Sequence(example.features);
      break;
  }
  return shape;
}

std::string ToString(const LayerShape& shape) {
  switch (shape.kind) {
    case LayerShape::Kind::kUnknown:
      break;
    case LayerShape::Kind::kTokens:
      return "[steps, batch]";
    case LayerShape::Kind::kSequence:
      return absl::StrCat("[steps, batch, ", Extent(shape.channels), "]");
    case LayerShape::Kind::kFeatures:
      return absl::StrCat("[batch, ", Extent(shape.channels), "]");
    case LayerShape::Kind::kImages:
      return absl::StrCat("[batch, ", Extent(shape.channels), ", ",
                          Extent(shape.height), ", ", Extent(shape.width), "]");
  }
  return "unknown";
}

bool MayBeEqual(const LayerShape& a, const LayerShape& b) {
  if (a.is(LayerShape::Kind::kUnknown) || b.is(LayerShape::Kind::kUnknown)) {
    return true;
  }
  return a.kind == b.kind && MayBeEqual(a.channels, b.channels) &&
         MayBeEqual(a.height, b.height) && MayBeEqual(a.width, b.width);
}

}  // namespace ps
