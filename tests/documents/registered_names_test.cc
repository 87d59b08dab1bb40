// The tables of the documents have a row for each registered name.
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "data/dataset.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "optimizers/optimizer.h"
#include "proto/config.pb.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAreArray;

// Names in the first column of the rows that have this number of columns, 0:
// any number, in the section that begins at this line of the page.
std::vector<std::string> RowNames(const std::string& page, int columns,
                                  const std::string& section = "") {
  std::ifstream in(ProgramPath("docs/" + page));
  EXPECT_TRUE(in) << page;
  const std::regex row(absl::StrCat(
      R"(\| ((?:`\w+`,? ?)+)\|(?:[^|\\]|\\.)*)",
      columns == 0
          ? std::string(R"(\|.*)")
          : absl::StrCat(R"((?:\|(?:[^|\\]|\\.)*){)", columns - 2, R"(}\|)")));
  const std::regex name(R"(\w+)");
  std::vector<std::string> names;
  std::smatch match;
  bool found = section.empty();
  for (std::string line; std::getline(in, line);) {
    found = found || line == section;
    if (!found || !std::regex_match(line, match, row)) continue;
    const std::string cell = match[1];
    for (std::sregex_iterator it(cell.begin(), cell.end(), name), end;
         it != end; ++it) {
      names.push_back(it->str());
    }
  }
  EXPECT_TRUE(found) << page << " has no line \"" << section << "\"";
  return names;
}

TEST(RegisteredNames, CompressorsHaveOneFullRowEach) {
  // Name, what it sends, passes, bytes, state, source, when to use it.
  EXPECT_THAT(RowNames("compressors.md", 7),
              UnorderedElementsAreArray(CompressorRegistry().Names()));
}

TEST(RegisteredNames, ValueCodesHaveOneFullRowEach) {
  // Name, what it sends, bits, error feedback, source, when to use it.
  EXPECT_THAT(RowNames("compressors.md", 6),
              UnorderedElementsAreArray(ValueCodeNames()));
}

TEST(RegisteredNames, ModelsHaveARow) {
  EXPECT_THAT(RowNames("models.md", 0), IsSupersetOf(ModelRegistry().Names()));
}

TEST(RegisteredNames, LayersOfNetworksHaveARow) {
  std::vector<std::string> kinds;
  const auto& kind = *LayerConfig::descriptor()->FindOneofByName("kind");
  for (int i = 0; i < kind.field_count(); ++i) {
    kinds.push_back(kind.field(i)->name());
  }
  EXPECT_THAT(RowNames("models.md", 0, "## A network of your own"),
              IsSupersetOf(kinds));
}

TEST(RegisteredNames, OptimizersHaveARow) {
  EXPECT_THAT(RowNames("optimizers.md", 0),
              IsSupersetOf(OptimizerRegistry().Names()));
}

TEST(RegisteredNames, DataSetsHaveARow) {
  EXPECT_THAT(RowNames("own_data.md", 3),
              IsSupersetOf(DatasetRegistry().Names()));
}

}  // namespace
}  // namespace ps
