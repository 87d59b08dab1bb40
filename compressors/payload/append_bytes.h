// Appends numbers to the bytes of a code.
#ifndef COMPRESSORS_PAYLOAD_APPEND_BYTES_H_
#define COMPRESSORS_PAYLOAD_APPEND_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ps {

// Appends n numbers, little-endian as in memory. Callers name the type:
// AppendBytes<float>.
template <typename Number>
void AppendBytes(const Number* numbers, size_t n, std::vector<uint8_t>* bytes) {
  const auto* const first = reinterpret_cast<const uint8_t*>(numbers);
  bytes->insert(bytes->end(), first, first + n * sizeof(Number));
}

template <typename Number>
void AppendNumber(Number number, std::vector<uint8_t>* bytes) {
  AppendBytes(&number, 1, bytes);
}

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_APPEND_BYTES_H_
