// Packs what a test wants to unpack.
#ifndef TESTS_DATA_GZIP_FOR_TEST_H_
#define TESTS_DATA_GZIP_FOR_TEST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// One gzip member.
std::string GzipForTest(absl::string_view bytes);

}  // namespace ps

#endif  // TESTS_DATA_GZIP_FOR_TEST_H_
