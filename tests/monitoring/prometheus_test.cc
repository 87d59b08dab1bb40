// Debian's Prometheus watches a real training (tests/monitoring/scrape).
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

TEST(Prometheus, FindsWhatTheDocumentsPromise) {
  const std::string tools = ProgramPath("tools/gradsieve");
  TestProcess process({ProgramPath("tests/monitoring/scrape"),
                       "--programs=" + tools.substr(0, tools.rfind('/'))},
                      NewTestDirectory() + "/output");
  EXPECT_EQ(process.WaitForExit(absl::Minutes(5)), 0) << process.Output();
  EXPECT_THAT(process.Output(),
              testing::HasSubstr("GradsieveWorkersMissing fired"));
}

}  // namespace
}  // namespace ps
