// Unpacks gzip in memory.
#ifndef DATA_GUNZIP_H_
#define DATA_GUNZIP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// True if `bytes` begin as every gzip file does (RFC 1952, section 2.3.1).
bool LooksLikeGzip(absl::string_view bytes);

// Every member of a gzip file, one after the other. Errors: kDataLoss if it is
// damaged, cut, or followed by something else; kResourceExhausted if it holds
// more than max_bytes.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, int64_t max_bytes);

}  // namespace ps

#endif  // DATA_GUNZIP_H_
