// The shape of what goes from one layer to the next, as far as it is known.
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
  // 0: unknown. Without a data set most are.
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  // Images before the first convolution lie in memory as the data set has them.
  bool convolved = false;

  static LayerShape Sequence(int64_t features) {
    return {Kind::kSequence, features, 0, 0, false};
  }
  static LayerShape Features(int64_t features) {
    return {Kind::kFeatures, features, 0, 0, false};
  }

  bool is(Kind other) const { return kind == other; }
  // Numbers in one example, or in one step of a sequence; 0: unknown. Extents
  // of layers that cannot be may have a product that is too large for int64_t;
  // it counts as the largest.
  int64_t num_elements() const;
};

// The input of a network for these examples.
LayerShape InputShape(const ExampleShape& example);

// "[batch, 16, 5, 5]", with "?" for what is not known.
std::string ToString(const LayerShape& shape);

// Whether both are of one kind, and no extent that both know differs.
bool MayBeEqual(const LayerShape& a, const LayerShape& b);

}  // namespace ps

#endif  // MODELS_DESCRIBED_LAYER_SHAPE_H_
