#include "compressors/adacomp/adacomp_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "compressors/adacomp/adacomp_words.h"
#include "compressors/payload/append_bytes.h"

namespace ps {
namespace {

void AppendHead(int bin_size, int64_t first, int64_t positions,
                std::vector<uint8_t>* bytes) {
  AppendNumber(static_cast<uint16_t>(bin_size), bytes);
  AppendNumber(static_cast<uint16_t>(first), bytes);
  AppendNumber(static_cast<uint32_t>(positions), bytes);
}

class WordWriter {
 public:
  WordWriter(const AdaCompWords& words, std::vector<uint8_t>* bytes)
      : words_(words), bytes_(bytes) {}

  void Put(uint32_t word) {
    if (words_.bytes() == 1) {
      AppendNumber(static_cast<uint8_t>(word), bytes_);
    } else {
      AppendNumber(static_cast<uint16_t>(word), bytes_);
    }
    ++count_;
  }

  // The longest runs come first; a single bin left over has a shorter form.
  void PutEmptyBins(int64_t bins) {
    while (bins > 1) {
      const int64_t run = std::min(bins, words_.longest_run());
      Put(words_.empty_run());
      Put(static_cast<uint32_t>(run - 1));
      bins -= run;
    }
    if (bins == 1) Put(words_.empty_bin());
  }

  uint32_t count() const { return count_; }

 private:
  const AdaCompWords words_;
  std::vector<uint8_t>* const bytes_;
  uint32_t count_ = 0;
};

}  // namespace

void AppendAdaCompSegment(const AdaCompPiece& piece,
                          std::vector<uint8_t>* bytes) {
  const AdaCompWords words(piece.bin_size);
  AppendHead(piece.bin_size, piece.begin % piece.bin_size,
             piece.end - piece.begin, bytes);
  const size_t count_at = bytes->size();
  AppendNumber(uint32_t{0}, bytes);  // Filled in at the end.
  AppendNumber(piece.scale, bytes);
  WordWriter writer(words, bytes);
  int64_t bin = piece.begin / piece.bin_size;  // The next bin to be written.
  for (size_t i = 0; i < piece.positions.size(); ++i) {
    const int64_t position = piece.positions[i];
    const int64_t next_bin = position / piece.bin_size;
    writer.PutEmptyBins(next_bin - bin);
    bin = next_bin;
    uint32_t word = static_cast<uint32_t>(position % piece.bin_size);
    if (piece.negative[i] != 0) word |= words.negative();
    if (i + 1 == piece.positions.size() ||
        piece.positions[i + 1] / piece.bin_size != bin) {
      word |= words.last();
      ++bin;
    }
    writer.Put(word);
  }
  const int64_t end_bin = (piece.end + piece.bin_size - 1) / piece.bin_size;
  writer.PutEmptyBins(end_bin - bin);
  const uint32_t count = writer.count();
  std::memcpy(bytes->data() + count_at, &count, sizeof(count));
}

void AppendDenseSegment(absl::Span<const float> values,
                        std::vector<uint8_t>* bytes) {
  AppendHead(0, 0, static_cast<int64_t>(values.size()), bytes);
  AppendBytes(values.data(), values.size(), bytes);
}

}  // namespace ps
