// Writes one index in each chunk of consecutive positions as its offset in the
// chunk, in as many bits as the longest chunk needs. Chen et al., "ScaleCom",
// NeurIPS 2020, section 4.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/index_codes/index_codec.h"
#include "compressors/payload/bit_stream.h"

namespace ps {
namespace {

// The header of a run has its chunk_size and size.
constexpr int64_t kRunHeaderBytes = 8;

// Returns the number of bits of an offset in a chunk.
int PlaceBits(int64_t chunk_size) {
  return static_cast<int>(
      absl::bit_width(static_cast<uint32_t>(chunk_size - 1)));
}

int64_t PlaceBytes(const ChunkRun& run) {
  return BytesOfBits(run.num_chunks() * PlaceBits(run.chunk_size));
}

class ChunksDecoder final : public IndexDecoder {
 public:
  ChunksDecoder(const PayloadInfo& info, const PieceReader& bytes)
      : dense_size_(info.dense_size), bytes_(bytes) {}

  absl::Status Next(absl::Span<uint32_t> indices) override {
    for (uint32_t& index : indices) {
      if (begin_ == end_) PS_RETURN_IF_ERROR(OpenRun());
      const int64_t longest = std::min(chunk_size_, end_ - begin_);
      const int64_t place = static_cast<int64_t>(places_->Read(bits_));
      if (place >= longest) {
        return absl::InvalidArgumentError(absl::StrCat(
            "place ", place, " in a chunk of ", longest, " positions"));
      }
      index = static_cast<uint32_t>(begin_ + place);
      begin_ += longest;
      if (begin_ == end_) PS_RETURN_IF_ERROR(CloseRun());
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    if (begin_ != end_ || begin_ != dense_size_ || bytes_.remaining() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "chunks of ", begin_, " positions; there are ", dense_size_, ", and ",
          bytes_.remaining(), " bytes are left"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status OpenRun() {
    uint32_t fields[2];
    if (!bytes_.Read(fields, sizeof(fields))) {
      return absl::InvalidArgumentError("fewer chunks than the header says");
    }
    ChunkRun run;
    run.chunk_size = fields[0];
    run.size = fields[1];
    if (run.size < 1 || run.size > dense_size_ - end_ || run.chunk_size < 1 ||
        run.chunk_size > run.size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a run of ", run.size, " positions in chunks of ", run.chunk_size,
          "; ", dense_size_ - end_, " positions are left"));
    }
    const int64_t bytes = PlaceBytes(run);
    if (bytes > bytes_.remaining()) {
      return absl::InvalidArgumentError("fewer places than chunks");
    }
    end_ += run.size;
    chunk_size_ = run.chunk_size;
    bits_ = PlaceBits(run.chunk_size);
    places_.emplace(bytes_.Subrange(0, bytes));
    bytes_ = bytes_.Subrange(bytes, bytes_.remaining());
    return absl::OkStatus();
  }

  absl::Status CloseRun() {
    if (places_->AtEnd()) return absl::OkStatus();
    return absl::InvalidArgumentError("bits are left after the last chunk");
  }

  const int64_t dense_size_;
  PieceReader bytes_;  // After the current run.
  // The following members describe the rest of the current run.
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t chunk_size_ = 1;
  int bits_ = 0;
  std::optional<BitReader> places_;
};

class Chunks final : public IndexCodec {
 public:
  absl::string_view name() const override { return "chunks"; }
  IndexCode number() const override { return IndexCode::kChunks; }

  bool Fits(const IndexList& list) const override {
    return !list.chunks.empty();
  }

  int64_t EncodedSize(const IndexList& list) const override {
    int64_t bytes = 0;
    for (const ChunkRun& run : list.chunks) {
      bytes += kRunHeaderBytes + PlaceBytes(run);
    }
    return bytes;
  }

  void Encode(const IndexList& list, uint8_t* out) const override {
    auto index = list.indices.begin();
    int64_t begin = list.begin;
    for (const ChunkRun& run : list.chunks) {
      const uint32_t fields[2] = {static_cast<uint32_t>(run.chunk_size),
                                  static_cast<uint32_t>(run.size)};
      std::memcpy(out, fields, sizeof(fields));
      BitWriter places(out + kRunHeaderBytes);
      const int bits = PlaceBits(run.chunk_size);
      for (int64_t at = 0; at < run.size; at += run.chunk_size) {
        places.Put(*index++ - (begin + at), bits);
      }
      places.Finish();
      out += kRunHeaderBytes + PlaceBytes(run);
      begin += run.size;
    }
  }

  std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    return std::make_unique<ChunksDecoder>(info, bytes);
  }
};

}  // namespace

const IndexCodec& ChunksCodec() {
  static auto* const codec = new Chunks;
  return *codec;
}

namespace {

[[maybe_unused]] const bool registered =
    OwnIndexFormats().Register(&ChunksCodec());

}  // namespace
}  // namespace ps
