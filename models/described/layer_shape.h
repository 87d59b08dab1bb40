// The known part of the shape of a layer's input or output.
#ifndef MODELS_DESCRIBED_LAYER_SHAPE_H_
#define MODELS_DESCRIBED_LAYER_SHAPE_H_

#include <cstdint>
#include <string>

#include "common/batch.h"

namespace ps {

struct LayerShape {
  enum class Kind {
    kUnknown,
    kTokens,    // [steps, batch]
    kSequence,  // [steps, batch, channels]
    kFeatures,  // [batch, channels]
    kImages,    // [batch, channels, height, width]
  };
  Kind kind = Kind::kUnknown;
  // The dimensions; 0 if unknown. Without a data set most are.
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  // Whether a convolution precedes. Before the first one, images lie in memory
  // as the data set has them.
  bool convolved = false;

  static LayerShape Sequence(int64_t features) {
    return {Kind::kSequence, features, 0, 0, false};
  }
  static LayerShape Features(int64_t features) {
    return {Kind::kFeatures, features, 0, 0, false};
  }

  bool is(Kind other) const { return kind == other; }
  // The number of elements in one example, or in one step of a sequence; 0:
  // unknown. If the product of invalid dimensions is too large for int64_t, it
  // counts as the largest.
  int64_t num_elements() const;
};

// Returns the shape of a network's input for these examples.
LayerShape InputShape(const ExampleShape& example);

// Returns "[batch, 16, 5, 5]", with "?" for unknown dimensions.
std::string ToString(const LayerShape& shape);

// Whether both are of one kind, and no dimension that both know differs.
bool MayBeEqual(const LayerShape& a, const LayerShape& b);

}  // namespace ps

#endif  // MODELS_DESCRIBED_LAYER_SHAPE_H_
