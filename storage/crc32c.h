// Computes CRC-32C (Castagnoli), as in RFC 3720, appendix B.4.
#ifndef STORAGE_CRC32C_H_
#define STORAGE_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace ps {

// Returns the checksum of `bytes`, or of the bytes with the checksum `before`
// followed by `bytes`. Thread-safe.
uint32_t Crc32c(absl::string_view bytes, uint32_t before = 0);

}  // namespace ps

#endif  // STORAGE_CRC32C_H_
