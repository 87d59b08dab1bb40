// docs/compressors.md describes exactly the registered compressors and value
// codes.
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

// Names in the first column of the table rows that have this number of columns.
std::vector<std::string> RowNames(int columns) {
  std::ifstream in(ProgramPath("docs/compressors.md"));
  EXPECT_TRUE(in);
  const std::regex row(
      absl::StrCat(R"(\| `(\w+)` (\|[^|]+){)", columns - 1, R"(}\|)"));
  std::vector<std::string> names;
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, match, row)) names.push_back(match[1]);
  }
  return names;
}

TEST(CompressorsDocument, HasOneFullRowForEachRegisteredName) {
  // Name, what it sends, passes, bytes, state, source, when to use it.
  EXPECT_THAT(RowNames(7),
              testing::UnorderedElementsAreArray(CompressorRegistry().Names()));
}

TEST(CompressorsDocument, HasOneFullRowForEachValueCode) {
  // Name, what it sends, bits, error feedback, source, when to use it.
  EXPECT_THAT(RowNames(6),
              testing::UnorderedElementsAreArray(ValueCodeNames()));
}

}  // namespace
}  // namespace ps
