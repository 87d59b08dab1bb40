// The benchmark of compressors on every backend: checks that all measurements
// exist and were verified.
#include "tools/bench/compressors/measurement.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "tests/tensor/backends_for_test.h"

namespace ps {
namespace {

class CompressorBenchTest : public BackendTest {};

CompressorBenchOptions Small() {
  CompressorBenchOptions options;
  options.elements = 70000;
  options.warm_up = 2;
  options.rounds = 1;
  return options;
}

TEST_P(CompressorBenchTest, Measures) {
  auto bench = CompressorBench::Create(Small(), backend());
  ASSERT_TRUE(bench.ok()) << bench.status();
  const bool on_host = GetParam() != "cuda";
  EXPECT_EQ((*bench)->bound_bytes_per_element(), on_host ? 16 : 12);
  for (const char* name : {"none", "topk", "sidco_e", "dgc"}) {
    SCOPED_TRACE(name);
    CompressorConfig config;
    config.set_name(name);
    config.set_ratio(0.01);
    auto timing = (*bench)->Run(config);
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_GT(timing->milliseconds, 0);
    EXPECT_GT(timing->bound_milliseconds, 0);
    EXPECT_EQ(std::isnan(timing->topk_milliseconds), !on_host);
    if (config.name() == "topk") {
      EXPECT_EQ(timing->sent, 700 * timing->rounds);
    }
    if (config.name() == "none") {
      EXPECT_EQ(timing->sent, 70000 * timing->rounds);
    }
    EXPECT_GT(timing->payload_bytes, 4 * timing->sent);
  }
}

TEST_P(CompressorBenchTest, MeasuresWhatDeltaModeAdds) {
  CompressorBenchOptions options = Small();
  options.worker_optimizer = "momentum";
  auto bench = CompressorBench::Create(options, backend());
  ASSERT_TRUE(bench.ok()) << bench.status();
  CompressorConfig config;
  config.set_name("sidco_e");
  const auto timing = (*bench)->Run(config);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_GT(timing->step_milliseconds, 0);
  EXPECT_GT(timing->follow_milliseconds, 0);
}

TEST_P(CompressorBenchTest, RefusesNonsense) {
  CompressorBenchOptions options = Small();
  options.elements = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(
      CompressorBench::Create(options, backend()).status()));
}

INSTANTIATE_OVER_BACKENDS(CompressorBenchTest);

}  // namespace
}  // namespace ps
