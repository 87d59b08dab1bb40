// The interfaces of the codes that write ascending indices as bytes.
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

// The indices of a payload, ascending and distinct, each in [begin, begin +
// dense_size). They are written relative to begin.
struct IndexList {
  absl::Span<const uint32_t> indices;
  uint32_t begin = 0;
  int64_t dense_size = 0;
  // Set if the indices are one in each chunk of these runs, which cover all
  // positions: code `chunks` can then write them. Empty otherwise.
  absl::Span<const ChunkRun> chunks;

  int64_t count() const { return static_cast<int64_t>(indices.size()); }
};

// Decodes the indices of one payload, a few at a time.
class IndexDecoder {
 public:
  virtual ~IndexDecoder() = default;

  // Fills `indices` with the next indices and checks that each is above the one
  // before it and below dense_size: the bytes are not trusted. The caller asks
  // for at most `count` in all. Errors: kInvalidArgument.
  virtual absl::Status Next(absl::Span<uint32_t> indices) = 0;

  // Call after the last index: returns an error if the bytes encode more.
  virtual absl::Status Finish() = 0;
};

// One format of indices in a payload, with what a reader needs. Stateless; safe
// to use from any number of threads.
class IndexFormat {
 public:
  virtual ~IndexFormat() = default;

  virtual absl::string_view name() const = 0;
  virtual IndexCode number() const = 0;

  // Whether the bytes of the values encode the indices too.
  virtual bool in_values() const { return false; }

  // `info` is the contents of a header; `bytes` are the bytes of the indices
  // or, if in_values(), of the values. The decoder may be asked for more
  // indices than there are.
  virtual std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const = 0;
};

// A format that can encode the indices of any values, so a config may choose
// it.
class IndexCodec : public IndexFormat {
 public:
  // Whether this code can write the list at all.
  virtual bool Fits(const IndexList& list) const = 0;

  // These require a list that fits. Encode writes EncodedSize bytes.
  virtual int64_t EncodedSize(const IndexList& list) const = 0;
  virtual void Encode(const IndexList& list, uint8_t* out) const = 0;
};

CodeTable<IndexCodec>& IndexCodecs();

// Returns the formats that only one compressor writes.
CodeTable<IndexFormat>& OwnIndexFormats();

// Returns the code that writes lists with `chunks`, and no others, so no config
// chooses it by name.
const IndexCodec& ChunksCodec();

// Searches both tables; null if there is no such format.
const IndexFormat* FindIndexFormat(uint8_t number);

#define REGISTER_INDEX_CODEC(Class)                                      \
  [[maybe_unused]] static const bool ps_index_codec_registered_##Class = \
      ::ps::IndexCodecs().Register(new Class)

#define REGISTER_OWN_INDEX_FORMAT(Class)                                  \
  [[maybe_unused]] static const bool ps_index_format_registered_##Class = \
      ::ps::OwnIndexFormats().Register(new Class)

}  // namespace ps

#endif  // COMPRESSORS_INDEX_CODES_INDEX_CODEC_H_
