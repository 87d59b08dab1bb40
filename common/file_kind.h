// Recognises the kind of a file that was given by mistake.
#ifndef COMMON_FILE_KIND_H_
#define COMMON_FILE_KIND_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Number of bytes at the beginning of a file that AsWhatItIs looks at.
constexpr size_t kFileKindBytes = 64;

// Returns the end of an error message about a wrong kind of file: "; it is a
// zip archive, ...", or nothing if its kind is not known. `beginning` has the
// file's first kFileKindBytes, or all of it.
std::string AsWhatItIs(absl::string_view beginning);

}  // namespace ps

#endif  // COMMON_FILE_KIND_H_
