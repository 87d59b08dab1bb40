// Unpacks gzip in memory.
#ifndef DATA_GUNZIP_H_
#define DATA_GUNZIP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// Returns true if `bytes` begins with the magic number of gzip (RFC 1952,
// section 2.3.1).
bool LooksLikeGzip(absl::string_view bytes);

// Returns the concatenation of all members of a gzip file, which zeros may
// follow, as tapes and other blocks leave them. Errors: kDataLoss if it is
// damaged, cut, or followed by other data; kResourceExhausted if it
// unpacks to more than max_bytes.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, int64_t max_bytes);

}  // namespace ps

#endif  // DATA_GUNZIP_H_
