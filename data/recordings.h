// The interface of recordings of speech with their transcripts.
#ifndef DATA_RECORDINGS_H_
#define DATA_RECORDINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

// A set of recordings. Immutable after construction, so any thread may read.
class Recordings {
 public:
  virtual ~Recordings() = default;

  virtual int64_t size() const = 0;

  // `number` is in [0, size()).
  virtual const std::string& transcript(int64_t number) const = 0;

  // The recording's name in messages: a file's path.
  virtual std::string name(int64_t number) const = 0;

  // The number of samples that Samples returns, if it is known without reading
  // the recording again.
  virtual std::optional<int64_t> num_samples(int64_t number) const = 0;

  // Reads the samples. All recordings of a set have the same sample rate, and
  // are at least as long as a window of its features. Errors: the reason why
  // the samples cannot be read, with the file's name.
  virtual absl::StatusOr<std::vector<int16_t>> Samples(
      int64_t number) const = 0;
};

}  // namespace ps

#endif  // DATA_RECORDINGS_H_
