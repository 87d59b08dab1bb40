// Recognises files that people give in place of others.
#ifndef COMMON_FILE_KIND_H_
#define COMMON_FILE_KIND_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Number of bytes at the beginning of a file that AsWhatItIs looks at.
constexpr size_t kFileKindBytes = 64;

// The end of an error about a file that is not what it should be: "; it is a
// zip archive, ...", or nothing if its kind is not known. `beginning` has the
// file's first kFileKindBytes, or all of it.
std::string AsWhatItIs(absl::string_view beginning);

}  // namespace ps

#endif  // COMMON_FILE_KIND_H_
