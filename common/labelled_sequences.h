// Examples of different lengths, as models check them before they are read.
#ifndef COMMON_LABELLED_SEQUENCES_H_
#define COMMON_LABELLED_SEQUENCES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"

namespace ps {

// Immutable after construction, so any thread may read. `number` is in
// [0, size()).
class LabelledSequences {
 public:
  virtual ~LabelledSequences() = default;

  virtual int64_t size() const = 0;

  // The name of the sequence in messages.
  virtual std::string name(int64_t number) const = 0;

  // What Batch::input_lengths will say of the sequence, if that is known
  // without reading it.
  virtual std::optional<int64_t> num_steps(int64_t number) const = 0;

  virtual absl::Span<const int32_t> labels(int64_t number) const = 0;
};

}  // namespace ps

#endif  // COMMON_LABELLED_SEQUENCES_H_
