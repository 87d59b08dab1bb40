// The ways to write ascending indices as bytes.
#ifndef COMPRESSORS_INDEX_CODES_INDEX_CODEC_H_
#define COMPRESSORS_INDEX_CODES_INDEX_CODEC_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compressors/payload/code_table.h"
#include "compressors/payload/payload_format.h"
#include "compressors/payload/piece_reader.h"

namespace ps {

// Ascending and distinct, each in [begin, begin + dense_size). What is written
// is the distance from begin.
struct IndexList {
  absl::Span<const uint32_t> indices;
  uint32_t begin = 0;
  int64_t dense_size = 0;

  int64_t count() const { return static_cast<int64_t>(indices.size()); }
};

// The indices of one payload, a few at a time.
class IndexDecoder {
 public:
  virtual ~IndexDecoder() = default;

  // Fills `indices` with the next ones, each above the one before it and below
  // dense_size: the bytes are not trusted. Asked for `count` in all, no more.
  // Errors: kInvalidArgument.
  virtual absl::Status Next(absl::Span<uint32_t> indices) = 0;

  // After the last one: an error if the bytes say more.
  virtual absl::Status Finish() = 0;
};

// One way in which indices lie in a payload: what a reader needs to know.
// Without state; any number of threads use one.
class IndexFormat {
 public:
  virtual ~IndexFormat() = default;

  virtual absl::string_view name() const = 0;
  virtual IndexCode number() const = 0;

  // Whether the bytes of the values say the indices, too.
  virtual bool in_values() const { return false; }

  // `info` is what a header says, `bytes` are those of the indices or, if
  // in_values(), of the values. The decoder may be asked for more indices than
  // there are.
  virtual std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const = 0;
};

// A format in which any values' indices can be written: a choice of the config.
class IndexCodec : public IndexFormat {
 public:
  // Whether this code can write the list at all.
  virtual bool Fits(const IndexList& list) const = 0;

  // Only for lists that fit. Encode writes EncodedSize bytes.
  virtual int64_t EncodedSize(const IndexList& list) const = 0;
  virtual void Encode(const IndexList& list, uint8_t* out) const = 0;
};

CodeTable<IndexCodec>& IndexCodecs();

// Formats that one compressor writes, and nobody else.
CodeTable<IndexFormat>& OwnIndexFormats();

// In either table; null if there is none.
const IndexFormat* FindIndexFormat(uint8_t number);

#define REGISTER_INDEX_CODEC(Class)                                      \
  [[maybe_unused]] static const bool ps_index_codec_registered_##Class = \
      ::ps::IndexCodecs().Register(new Class)

#define REGISTER_OWN_INDEX_FORMAT(Class)                                  \
  [[maybe_unused]] static const bool ps_index_format_registered_##Class = \
      ::ps::OwnIndexFormats().Register(new Class)

}  // namespace ps

#endif  // COMPRESSORS_INDEX_CODES_INDEX_CODEC_H_
