// The settings of benchmarks/convergence are valid jobs and cover every
// compressor and value code.
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/config.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

struct Setting {
  std::string name;
  JobConfig job;
};

std::vector<Setting> ReadSettings() {
  std::ifstream in(ProgramPath("benchmarks/convergence_settings.txt"));
  EXPECT_TRUE(in);
  std::vector<Setting> settings;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, " | ");
    EXPECT_EQ(parts.size(), 3u) << line;
    std::vector<std::string> fields =
        absl::StrSplit(parts[1], ' ', absl::SkipEmpty());
    fields.push_back("data.directory=somewhere");
    const auto job =
        LoadJob(ProgramPath("benchmarks/convergence.textproto"), fields);
    EXPECT_TRUE(job.ok()) << parts[0] << ": " << job.status();
    if (job.ok()) settings.push_back({parts[0], *job});
  }
  return settings;
}

TEST(ConvergenceSettingsTest, EveryCompressorAndValueCodeHasOne) {
  std::set<std::string> compressors;
  std::set<std::string> value_codes;
  std::set<std::string> names;
  for (const Setting& setting : ReadSettings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " twice";
    compressors.insert(setting.job.compressor().name());
    value_codes.insert(setting.job.compressor().value_code());
  }
  EXPECT_THAT(compressors,
              testing::UnorderedElementsAreArray(CompressorRegistry().Names()));
  EXPECT_THAT(value_codes,
              testing::UnorderedElementsAreArray(ValueCodeNames()));
}

}  // namespace
}  // namespace ps
