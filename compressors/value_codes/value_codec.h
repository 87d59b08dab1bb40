// One way to write values as bytes.
#ifndef COMPRESSORS_VALUE_CODES_VALUE_CODEC_H_
#define COMPRESSORS_VALUE_CODES_VALUE_CODEC_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compressors/code_table.h"
#include "compressors/payload_format.h"
#include "compressors/piece_reader.h"

namespace ps {

// The values of one payload, a few at a time.
class ValueDecoder {
 public:
  virtual ~ValueDecoder() = default;

  // Fills `values` with the next ones; asked for `count` in all, no more.
  // Whether they are finite is the caller's question.
  virtual void Next(absl::Span<float> values) = 0;

  // sum[i] += the next values.
  virtual void AddNext(absl::Span<float> sum) = 0;
};

// Without state; any number of threads use one.
class ValueCodec {
 public:
  virtual ~ValueCodec() = default;

  virtual absl::string_view name() const = 0;
  virtual ValueCode number() const = 0;

  // Bytes of `count` values; a header that says otherwise is refused.
  virtual int64_t EncodedSize(int64_t count) const = 0;

  // Writes EncodedSize(values.size()) bytes. Replaces each value by what the
  // code lost of it: value - decoded.
  virtual void Encode(absl::Span<float> values, uint8_t* out) const = 0;

  // `bytes` has EncodedSize(info.count) of them.
  virtual std::unique_ptr<ValueDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const = 0;
};

CodeTable<ValueCodec>& ValueCodecs();

#define REGISTER_VALUE_CODEC(Class)                                      \
  [[maybe_unused]] static const bool ps_value_codec_registered_##Class = \
      ::ps::ValueCodecs().Register(new Class)

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_VALUE_CODEC_H_
