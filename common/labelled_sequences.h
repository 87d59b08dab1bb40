// Sequences of different lengths, which models check before they are read.
#ifndef COMMON_LABELLED_SEQUENCES_H_
#define COMMON_LABELLED_SEQUENCES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"

namespace ps {

// Lengths and labels of sequences. Immutable after construction, so any thread
// may read. `number` is in [0, size()).
class LabelledSequences {
 public:
  virtual ~LabelledSequences() = default;

  virtual int64_t size() const = 0;

  // The sequence's name in messages.
  virtual std::string name(int64_t number) const = 0;

  // The future Batch::input_lengths of the sequence, if it is known without
  // reading it.
  virtual std::optional<int64_t> num_steps(int64_t number) const = 0;

  virtual absl::Span<const int32_t> labels(int64_t number) const = 0;
};

}  // namespace ps

#endif  // COMMON_LABELLED_SEQUENCES_H_
