// Reads streams of codes that have equally many bits each.
#ifndef COMPRESSORS_VALUE_CODES_FIXED_WIDTH_H_
#define COMPRESSORS_VALUE_CODES_FIXED_WIDTH_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "compressors/bit_stream.h"
#include "glog/logging.h"

namespace ps {

// Calls visit(i, code) for i from 0 to n - 1. The stream has so many.
template <typename Visit>
void ReadCodes(int bits, size_t n, BitReader* reader, Visit visit) {
  const size_t at_once = static_cast<size_t>(BitReader::kRefilled / bits);
  const uint64_t mask = LowBits(bits);
  size_t i = 0;
  while (i + at_once <= n) {
    reader->Refill();
    uint64_t window = reader->window();
    for (size_t j = 0; j < at_once; ++j) {
      visit(i++, static_cast<uint32_t>(window & mask));
      window >>= bits;
    }
    reader->Consume(static_cast<int>(at_once) * bits);
  }
  for (; i < n; ++i) visit(i, static_cast<uint32_t>(reader->Read(bits)));
  CHECK(!reader->past_end());
}

// After the last code.
inline absl::Status FinishCodes(BitReader* reader) {
  if (reader->AtEnd()) return absl::OkStatus();
  return absl::InvalidArgumentError("more values than the header says");
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_FIXED_WIDTH_H_
