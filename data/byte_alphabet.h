// Numbers the distinct bytes of a text.
#ifndef DATA_BYTE_ALPHABET_H_
#define DATA_BYTE_ALPHABET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ps {

// Maps the distinct bytes, in ascending order, to numbers from 0.
class ByteAlphabet {
 public:
  // Collects the bytes that occur in `text`.
  explicit ByteAlphabet(absl::string_view text);

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  const std::string& bytes() const { return bytes_; }

  // Returns the number of each byte of `text`; all of its bytes must be in the
  // alphabet.
  std::vector<int32_t> Numbers(absl::string_view text) const;

 private:
  std::string bytes_;
  std::array<int32_t, 256> numbers_ = {};  // The numbers by byte.
};

}  // namespace ps

#endif  // DATA_BYTE_ALPHABET_H_
