// The ways to write values as bytes.
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

// The values of one payload, a few at a time.
class ValueDecoder {
 public:
  virtual ~ValueDecoder() = default;

  // Fills `values` with the next ones; asked for `count` in all, no more.
  // What stands for no value is a NaN: whether values are finite is the
  // caller's question.
  virtual void Next(absl::Span<float> values) = 0;

  // sum[i] += the next values. Here: as Next, then added.
  virtual void AddNext(absl::Span<float> sum);

  // Goes past the next `count`: whether none is a NaN or an infinity. Here: as
  // Next, then looked at.
  virtual bool SkipFinite(int64_t count);

  // After the last one: an error if bits are left.
  virtual absl::Status Finish() { return absl::OkStatus(); }
};

// How to write, besides the code.
struct ValueWriting {
  ValueCodeConfig config;  // In the ranges of its comments.
  // Codes that round at random draw by this and the element's place, from
  // nothing else: every payload needs a key of its own.
  uint64_t random_key = 0;
};

// What a code does to values v, which are decoded as Q. Error feedback needs
// variance of 1 at most, or what is lost grows from iteration to iteration; a
// code that is not unbiased needs error feedback.
struct CodingError {
  bool unbiased = true;  // E Q = v, or so near it that training does not show.
  // E|Q - v|^2 <= variance |v|^2; infinity if there is no such number.
  double variance = 0;
};

// One way in which values lie in a payload: what a reader needs to know.
// Without state; any number of threads use one.
class ValueFormat {
 public:
  virtual ~ValueFormat() = default;

  virtual absl::string_view name() const = 0;
  virtual ValueCode number() const = 0;

  // `bytes` has info.value_bytes of them. Errors: kInvalidArgument for a length
  // that info.count values cannot have, and parameters out of range.
  virtual absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const = 0;
};

// A format in which any values can be written: a choice of the config.
class ValueCodec : public ValueFormat {
 public:
  // Whether Encode looks at the random key.
  virtual bool RoundsAtRandom() const { return false; }

  // `config` is in its ranges.
  virtual CodingError Error(const ValueCodeConfig& config) const = 0;

  // The most bytes that Encode may write.
  virtual int64_t MaxEncodedSize(int64_t count,
                                 const ValueCodeConfig& config) const = 0;

  // Returns how many bytes it wrote. Replaces each value, all finite, by what
  // the code lost of it: value - decoded, rounded to float once. What is
  // decoded is finite, and so is what was lost.
  virtual int64_t Encode(const ValueWriting& writing, absl::Span<float> values,
                         uint8_t* out) const = 0;
};

CodeTable<ValueCodec>& ValueCodecs();

// Formats that one compressor writes, and nobody else.
CodeTable<ValueFormat>& OwnValueFormats();

// In either table; null if there is none.
const ValueFormat* FindValueFormat(uint8_t number);

// OK if info.value_bytes is `value_bytes`.
absl::Status CheckValueBytes(const PayloadInfo& info, int64_t value_bytes);

// `codec`: a new ValueCodec.
#define REGISTER_VALUE_CODEC(name, codec)                               \
  [[maybe_unused]] static const bool ps_value_codec_registered_##name = \
      ::ps::ValueCodecs().Register(codec)

#define REGISTER_OWN_VALUE_FORMAT(Class)                                  \
  [[maybe_unused]] static const bool ps_value_format_registered_##Class = \
      ::ps::OwnValueFormats().Register(new Class)

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_VALUE_CODEC_H_
