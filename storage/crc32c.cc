#include "storage/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace ps {
namespace {

// The bits of the polynomial 0x1EDC6F41 are reversed.
constexpr uint32_t kPolynomial = 0x82f63b78;

constexpr std::array<uint32_t, 256> Table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = Table();

uint32_t ByTable(absl::string_view bytes, uint32_t crc) {
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ByInstruction(
    absl::string_view bytes, uint32_t crc) {
  uint64_t wide = crc;
  for (; bytes.size() >= sizeof(uint64_t);
       bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    wide = _mm_crc32_u64(wide, word);
  }
  return ByTable(bytes, static_cast<uint32_t>(wide));
}

const bool kHasInstruction = __builtin_cpu_supports("sse4.2");
#endif

}  // namespace

uint32_t Crc32c(absl::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  if (kHasInstruction) return ~ByInstruction(bytes, ~before);
#endif
  return ~ByTable(bytes, ~before);
}

}  // namespace ps
