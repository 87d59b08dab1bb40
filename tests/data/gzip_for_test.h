// Compresses data for tests of decompression.
#ifndef TESTS_DATA_GZIP_FOR_TEST_H_
#define TESTS_DATA_GZIP_FOR_TEST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Returns one gzip member.
std::string GzipForTest(absl::string_view bytes);

}  // namespace ps

#endif  // TESTS_DATA_GZIP_FOR_TEST_H_
