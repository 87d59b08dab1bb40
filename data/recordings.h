// Recordings of speech and what is said in them, wherever they come from.
#ifndef DATA_RECORDINGS_H_
#define DATA_RECORDINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

// Immutable once made, so any thread may read.
class Recordings {
 public:
  virtual ~Recordings() = default;

  virtual int64_t size() const = 0;

  // `number` is in [0, size()).
  virtual const std::string& transcript(int64_t number) const = 0;

  // What messages call it: a file's path.
  virtual std::string name(int64_t number) const = 0;

  // How many Samples returns, where that is known without reading it again.
  virtual std::optional<int64_t> num_samples(int64_t number) const = 0;

  // All recordings of a set have the same sample rate, and last a window of
  // its features at least. Errors: what keeps the samples from being read,
  // with the file's name.
  virtual absl::StatusOr<std::vector<int16_t>> Samples(
      int64_t number) const = 0;
};

}  // namespace ps

#endif  // DATA_RECORDINGS_H_
