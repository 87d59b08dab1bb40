// The bytes that compressor "lgc" exchanges with its part at the servers, in
// payloads of value code kByCompressor and with positions
// (compressors/payload/shared_positions.h). docs/wire_format.md has the
// grammar.
#ifndef COMPRESSORS_LGC_MESSAGE_H_
#define COMPRESSORS_LGC_MESSAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compressors/lgc/values.h"

namespace ps {

// Decoded values are far from overflowing with these bounds.
constexpr float kMaxScale = 1e12f;
constexpr float kMaxCoded = 1e9f;  // Of the magnitudes in codes, innovations.

// What the leader says to all: its remark.
struct LgcRemark {
  bool coded = false;
  std::vector<ValueRange> ranges;
  // The rest only if coded.
  uint32_t version = 0;  // Of the autoencoder.
  // All coded values are divided by it; above 0, at most kMaxScale.
  float scale = 1;
  // As OrderOf takes them; empty for the order of positions.
  std::vector<bool> signs;
};

std::string Write(const LgcRemark& remark);
// num_elements: those of the payload. Errors: kInvalidArgument.
absl::StatusOr<LgcRemark> ReadLgcRemark(absl::string_view bytes,
                                        int64_t num_elements);

// What only the server needs. Of values that are not coded, the leader sends
// all; with codes each worker sends those outside the ranges, and its
// innovation. All are finite.
struct LgcValues {
  std::vector<float> plain;
  std::vector<float> code;       // The leader's.
  std::vector<uint32_t> places;  // In the order of the autoencoder; ascending.
  std::vector<float> innovation;
};

// num_coded: the number of values in ranges, 0 if they are not coded.
std::string Write(const LgcValues& values, int64_t num_coded);
// code_length is 0 for all but the leader. Errors: kInvalidArgument.
absl::StatusOr<LgcValues> ReadLgcValues(absl::string_view bytes,
                                        int64_t num_plain, int64_t num_coded,
                                        int64_t code_length);

// What the server says to a worker with the positions of an iteration.
struct LgcPlan {
  bool sends_code = false;  // The leader of the next iteration.
  uint32_t version = 0;     // Of the autoencoder that is used.
  std::string encoder;      // Its parameters; empty if the worker has them.
};

std::string Write(const LgcPlan& plan);
// Errors: kInvalidArgument.
absl::StatusOr<LgcPlan> ReadLgcPlan(absl::string_view bytes);

// Parameters as bytes, and back.
std::string FloatBytes(const std::vector<float>& values);
std::vector<float> FloatsOf(absl::string_view bytes);

}  // namespace ps

#endif  // COMPRESSORS_LGC_MESSAGE_H_
