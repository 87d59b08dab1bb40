#include "data/byte_alphabet.h"

namespace ps {

ByteAlphabet::ByteAlphabet(absl::string_view text) {
  std::array<bool, 256> present = {};
  for (const char c : text) present[static_cast<uint8_t>(c)] = true;
  for (int byte = 0; byte < 256; ++byte) {
    if (!present[byte]) continue;
    numbers_[byte] = static_cast<int32_t>(bytes_.size());
    bytes_.push_back(static_cast<char>(byte));
  }
}

std::vector<int32_t> ByteAlphabet::Numbers(absl::string_view text) const {
  std::vector<int32_t> numbers;
  numbers.reserve(text.size());
  for (const char c : text) {
    numbers.push_back(numbers_[static_cast<uint8_t>(c)]);
  }
  return numbers;
}

}  // namespace ps
