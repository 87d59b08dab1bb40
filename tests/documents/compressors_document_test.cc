// docs/compressors.md describes every compressor, and no other.
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

TEST(CompressorsDocument, HasOneFullRowForEachRegisteredName) {
  std::ifstream in(ProgramPath("docs/compressors.md"));
  ASSERT_TRUE(in);
  // Name, what it sends, passes, bytes, state, source, when to use it.
  const std::regex row(R"(\| `(\w+)` (\|[^|]+){6}\|)");
  std::vector<std::string> names;
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, match, row)) names.push_back(match[1]);
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAreArray(CompressorRegistry().Names()));
}

}  // namespace
}  // namespace ps
