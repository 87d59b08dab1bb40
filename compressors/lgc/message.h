// Encodes the messages between compressor "lgc" and its server-side codec, in
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

// With these bounds, decoded values are far from overflowing.
constexpr float kMaxScale = 1e12f;
// The bound of magnitudes in codes and innovations.
constexpr float kMaxCoded = 1e9f;

// The leader's side information for all workers.
struct LgcRemark {
  bool coded = false;
  std::vector<ValueRange> ranges;
  // The following fields are used only if coded.
  uint32_t version = 0;  // The version of the autoencoder.
  // The divisor of all coded values; above 0, at most kMaxScale.
  float scale = 1;
  // The signs for OrderOf; empty for the order of positions.
  std::vector<bool> signs;
};

std::string Write(const LgcRemark& remark);
// Decodes side information. num_elements is the payload's number of elements.
// Errors: kInvalidArgument.
absl::StatusOr<LgcRemark> ReadLgcRemark(absl::string_view bytes,
                                        int64_t num_elements);

// The part of a push that only the server needs. If values are not coded, the
// leader sends all; with codes each worker sends those outside the ranges, and
// its innovation. All are finite.
struct LgcValues {
  std::vector<float> plain;
  std::vector<float> code;  // The leader's.
  // The innovation's places in the autoencoder's order; ascending.
  std::vector<uint32_t> places;
  std::vector<float> innovation;
};

// Encodes. num_coded: the number of values in ranges, 0 if they are not coded.
std::string Write(const LgcValues& values, int64_t num_coded);
// Decodes. code_length is 0 for all but the leader. Errors: kInvalidArgument.
absl::StatusOr<LgcValues> ReadLgcValues(absl::string_view bytes,
                                        int64_t num_plain, int64_t num_coded,
                                        int64_t code_length);

// The server's side information for a worker, which comes with the positions of
// an iteration.
struct LgcPlan {
  // Whether the leader of the next iteration sends a code.
  bool sends_code = false;
  uint32_t version = 0;  // The version of the autoencoder in use.
  // The encoder's parameters; empty if the worker has them.
  std::string encoder;
};

std::string Write(const LgcPlan& plan);
// Decodes a plan. Errors: kInvalidArgument.
absl::StatusOr<LgcPlan> ReadLgcPlan(absl::string_view bytes);

// Convert parameters to bytes and back.
std::string FloatBytes(const std::vector<float>& values);
std::vector<float> FloatsOf(absl::string_view bytes);

}  // namespace ps

#endif  // COMPRESSORS_LGC_MESSAGE_H_
