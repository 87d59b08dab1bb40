// Reads text that people write.
#ifndef COMMON_TEXT_FILE_H_
#define COMMON_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace ps {

// Read files like ReadFile and ReadRegularFile (common/file.h), without the
// byte order mark with which some editors begin UTF-8. Errors: also kDataLoss
// for UTF-16.
absl::StatusOr<std::string> ReadText(const std::string& path);
absl::StatusOr<std::string> ReadRegularText(const std::string& path);

}  // namespace ps

#endif  // COMMON_TEXT_FILE_H_
