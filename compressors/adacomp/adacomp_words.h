// Defines the bytes that AdaComp sends: one segment for each tensor of a part,
// or piece of a tensor.
//
//     values   := segment*
//     segment  := bin_size u16, first u16, positions u32, body
//     body     := f32 for each position                        if bin_size is 0
//               | words u32, scale f32, code words             otherwise
//
// A tensor is cut into bins of bin_size positions from its own begin. `first`
// is the place (the offset within its bin) of the segment's first position.
// Places do not change if a part begins or ends inside a bin.
// docs/wire_format.md has the code words and an example.
#ifndef COMPRESSORS_ADACOMP_ADACOMP_WORDS_H_
#define COMPRESSORS_ADACOMP_ADACOMP_WORDS_H_

#include <cstdint>

namespace ps {

constexpr int kMaxAdaCompBinSize = 16383;

// The code words of bins of one size: one byte for up to 63 positions,
// otherwise two. Chen et al. (AAAI 2018) give the widths. They spend two bits
// on three values; here one of these bits is the sign and the other marks the
// last element of a bin. The place with all bits set is not a valid place: it
// stands for bins without elements.
class AdaCompWords {
 public:
  explicit AdaCompWords(int bin_size) : place_bits_(bin_size <= 63 ? 6 : 14) {}

  int bytes() const { return place_bits_ == 6 ? 1 : 2; }

  uint32_t places() const { return (1u << place_bits_) - 1; }
  uint32_t negative() const { return 1u << place_bits_; }
  uint32_t last() const { return 2u << place_bits_; }

  // The word for one bin without elements; and the word that, followed by a
  // word v, stands for v + 1 such bins.
  uint32_t empty_bin() const { return last() | places(); }
  uint32_t empty_run() const { return empty_bin() | negative(); }
  int64_t longest_run() const { return int64_t{4} << place_bits_; }

 private:
  const int place_bits_;
};

}  // namespace ps

#endif  // COMPRESSORS_ADACOMP_ADACOMP_WORDS_H_
