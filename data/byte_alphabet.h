// The distinct bytes of a text, numbered.
#ifndef DATA_BYTE_ALPHABET_H_
#define DATA_BYTE_ALPHABET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ps {

// Bytes in ascending order, counted from 0.
class ByteAlphabet {
 public:
  // Of the bytes that `text` has.
  explicit ByteAlphabet(absl::string_view text);

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  const std::string& bytes() const { return bytes_; }

  // Each byte of `text`, which must be one of these, as its number.
  std::vector<int32_t> Numbers(absl::string_view text) const;

 private:
  std::string bytes_;
  std::array<int32_t, 256> numbers_ = {};  // By byte.
};

}  // namespace ps

#endif  // DATA_BYTE_ALPHABET_H_
