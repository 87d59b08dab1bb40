// The interfaces of the codes that write values as bytes.
#ifndef COMPRESSORS_VALUE_CODES_VALUE_CODEC_H_
#define COMPRESSORS_VALUE_CODES_VALUE_CODEC_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compressors/payload/code_table.h"
#include "compressors/payload/payload_format.h"
#include "compressors/payload/piece_reader.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Decodes the values of one payload, a few at a time.
class ValueDecoder {
 public:
  virtual ~ValueDecoder() = default;

  // Fills `values` with the next values; the caller asks for at most `count` in
  // all. Returns NaN for input that encodes no value: callers must check that
  // values are finite.
  virtual void Next(absl::Span<float> values) = 0;

  // Adds the next values to sum[i]. The default calls Next and adds.
  virtual void AddNext(absl::Span<float> sum);

  // Skips the next `count` values and returns whether all of them are finite.
  // The default calls Next and checks the values.
  virtual bool SkipFinite(int64_t count);

  // Must be called after the last value: returns an error if bits are left.
  virtual absl::Status Finish() { return absl::OkStatus(); }
};

// The parameters of an encoding besides the code.
struct ValueWriting {
  ValueCodeConfig config;  // The config, within the ranges in its comments.
  // The key of random rounding, on which draws depend together with the
  // element's position: every payload needs a key of its own.
  uint64_t random_key = 0;
};

// The error of a code on values v, which decode as Q. With error feedback,
// variance must be at most 1, or the residual grows from iteration to
// iteration. A biased code needs error feedback.
struct CodingError {
  // Whether E Q = v, or so nearly that it does not affect training.
  bool unbiased = true;
  // The bound E|Q - v|^2 <= variance |v|^2; infinity if there is none.
  double variance = 0;
};

// One format of values in a payload, with what a reader needs. Stateless; safe
// to use from any number of threads.
class ValueFormat {
 public:
  virtual ~ValueFormat() = default;

  virtual absl::string_view name() const = 0;
  virtual ValueCode number() const = 0;

  // Creates a decoder. `bytes` holds info.value_bytes bytes. Errors:
  // kInvalidArgument for a length that does not match info.count values, or
  // parameters out of range.
  virtual absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const = 0;
};

// A format that can encode arbitrary values, so a config may choose it.
class ValueCodec : public ValueFormat {
 public:
  // Whether Encode uses the random key.
  virtual bool RoundsAtRandom() const { return false; }

  // Returns the code's error. `config` must be within its ranges.
  virtual CodingError Error(const ValueCodeConfig& config) const = 0;

  // Returns the maximum number of bytes that Encode may write.
  virtual int64_t MaxEncodedSize(int64_t count,
                                 const ValueCodeConfig& config) const = 0;

  // Encodes the values and returns the number of bytes written. Replaces each
  // value, all of which must be finite, with the coding error: value - decoded,
  // rounded to float once. Both the decoded value and the error are finite.
  virtual int64_t Encode(const ValueWriting& writing, absl::Span<float> values,
                         uint8_t* out) const = 0;
};

CodeTable<ValueCodec>& ValueCodecs();

// Returns the formats that only one compressor writes.
CodeTable<ValueFormat>& OwnValueFormats();

// Searches both tables; null if there is no such format.
const ValueFormat* FindValueFormat(uint8_t number);

// Returns an error unless info.value_bytes is `value_bytes`.
absl::Status CheckValueBytes(const PayloadInfo& info, int64_t value_bytes);

// Registers `codec`, a new ValueCodec. `meaning`: one line for lists.
#define REGISTER_VALUE_CODEC(name, meaning, codec)                      \
  [[maybe_unused]] static const bool ps_value_codec_registered_##name = \
      ::ps::ValueCodecs().Register(codec, meaning)

#define REGISTER_OWN_VALUE_FORMAT(Class)                                  \
  [[maybe_unused]] static const bool ps_value_format_registered_##Class = \
      ::ps::OwnValueFormats().Register(new Class)

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_VALUE_CODEC_H_
