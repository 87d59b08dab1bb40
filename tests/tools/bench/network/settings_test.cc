#include "tools/bench/network/settings.h"

#include <string>
#include <vector>

#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A job with values that are not the defaults.
JobConfig Base() {
  JobConfig base;
  base.set_name("base");
  base.mutable_compressor()->set_name("topk");
  base.mutable_compressor()->set_ratio(0.25);
  base.mutable_compressor()->set_value_code("fp16");
  base.mutable_cluster()->set_num_workers(3);
  return base;
}

std::vector<NetworkSetting> Parsed(const std::string& text) {
  const auto settings = ParseSettings(text, Base());
  EXPECT_TRUE(settings.ok()) << settings.status();
  return settings.value_or(std::vector<NetworkSetting>());
}

TEST(Settings, HaveACompressorAndWhatFollowsIt) {
  const auto settings = Parsed(
      "none,none:bf16,dgc:0.01,sidco_e:fp32:0.001,"
      "topk:training.bucket_megabytes=1:cluster.num_workers=8");
  ASSERT_EQ(settings.size(), 5u);
  EXPECT_EQ(settings[0].name, "none");
  EXPECT_EQ(settings[0].config.compressor().name(), "none");
  EXPECT_EQ(settings[0].config.compressor().value_code(), "fp32")
      << "nothing is compressed";
  EXPECT_EQ(settings[1].name, "none:bf16");
  EXPECT_EQ(settings[1].config.compressor().value_code(), "bf16");
  EXPECT_EQ(settings[2].config.compressor().name(), "dgc");
  EXPECT_EQ(settings[2].config.compressor().ratio(), 0.01);
  EXPECT_EQ(settings[3].config.compressor().ratio(), 0.001);
  EXPECT_EQ(settings[3].config.compressor().value_code(), "fp32");
  EXPECT_EQ(settings[4].config.training().bucket_megabytes(), 1);
  EXPECT_EQ(settings[4].config.cluster().num_workers(), 8);
}

TEST(Settings, TakeWhatTheyDoNotSayFromTheJob) {
  const auto settings = Parsed("dgc,sidco_e:0.5");
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].config.name(), "base");
  EXPECT_EQ(settings[0].config.compressor().ratio(), 0.25);
  EXPECT_EQ(settings[0].config.compressor().value_code(), "fp16");
  // Not the value of the setting before.
  EXPECT_EQ(settings[1].config.compressor().value_code(), "fp16");
  EXPECT_EQ(settings[1].config.cluster().num_workers(), 3);
}

TEST(Settings, MayComeAgain) {
  const auto settings = Parsed("none,none");
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].name, settings[1].name);
}

TEST(Settings, ErrorsNameTheSettingAndTheRule) {
  const struct {
    std::string text;
    std::string setting;
    std::string message;
  } cases[] = {
      {"", "\"\"", "has no compressor; must be NAME[:RATIO]"},
      {"none,,topk", "\"\"", "has no compressor"},
      {"none,:0.1", "\":0.1\"", "has no compressor"},
      {"topk:", "\"topk:\"", "nothing behind a colon"},
      {"none,topkk:0.1", "\"topkk:0.1\"", "compressor.name"},
      {"topk:1.5", "\"topk:1.5\"", "compressor.ratio"},
      {"topk:nan", "\"topk:nan\"", "compressor.ratio"},
      {"topk:fp17", "\"topk:fp17\"", "compressor.value_code"},
      {"topk:0.1:0.2", "\"topk:0.1:0.2\"", "has two ratios"},
      {"topk:fp16:bf16", "\"topk:fp16:bf16\"", "has two value codes"},
      {"none:0.1", "\"none:0.1\"", "\"none\" has no target ratio"},
      {"topk:compressor.rati=1", "\"topk:compressor.rati=1\"", "rati"},
      {"topk:cluster.num_workers=0", "num_workers=0\"", "cluster.num_workers"},
  };
  for (const auto& c : cases) {
    const auto settings = ParseSettings(c.text, Base());
    ASSERT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument)
        << c.text;
    EXPECT_THAT(std::string(settings.status().message()),
                AllOf(HasSubstr(c.setting), HasSubstr(c.message)));
  }
}

}  // namespace
}  // namespace ps
