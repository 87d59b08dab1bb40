#include "tools/advise/flags.h"

#include <string>
#include <vector>

#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/advise/candidates.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobConfig Job() {
  JobConfig job;
  job.set_name("job");
  job.mutable_compressor()->set_name("dgc");
  job.mutable_compressor()->set_ratio(0.01);
  job.mutable_cluster()->set_num_workers(4);
  return job;
}

std::vector<std::string> CandidateNames(const JobConfig& job) {
  std::vector<std::string> names;
  const auto settings = CandidateSettings(job);
  EXPECT_TRUE(settings.ok()) << settings.status();
  for (const NetworkSetting& setting : *settings) {
    names.push_back(setting.name);
  }
  return names;
}

TEST(Candidates, HaveTheJobItselfAfterThoseWithoutACompressor) {
  EXPECT_THAT(CandidateNames(Job()),
              ElementsAre("none", "none:bf16:downlink.value_code=bf16",
                          "dgc (the job)", "sidco_e:0.01:int8_block",
                          "topk:0.01:int8_block", "sidco_e:0.001:int8_block"));
}

TEST(Candidates, MarkTheOneThatIsTheJob) {
  JobConfig job = Job();
  CompressorConfig* const compressor = job.mutable_compressor();
  compressor->set_name("topk");
  compressor->set_value_code("int8_block");
  // What is stated but is the default makes no other job.
  job.mutable_downlink()->set_mode(DownlinkConfig::AUTO);
  // Nor does what ends before the iterations that are predicted.
  compressor->mutable_warmup()->set_stages(4);
  EXPECT_THAT(
      CandidateNames(job),
      ElementsAre("none", "none:bf16:downlink.value_code=bf16",
                  "sidco_e:0.01:int8_block", "topk:0.01:int8_block (the job)",
                  "sidco_e:0.001:int8_block"));
}

TEST(Candidates, DoNotInheritTheJobsCompressorAndDownlink) {
  JobConfig job = Job();
  job.mutable_compressor()->set_clip_norm(1);
  job.mutable_downlink()->set_mode(DownlinkConfig::COMPRESSED);
  job.mutable_downlink()->mutable_compressor()->set_name("topk");
  const auto settings = CandidateSettings(job);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_FALSE((*settings)[0].config.has_downlink());
  EXPECT_FALSE((*settings)[0].config.compressor().has_clip_norm());
  EXPECT_EQ((*settings)[0].config.cluster().num_workers(), 4);
  EXPECT_EQ((*settings)[2].config.downlink().mode(),
            DownlinkConfig::COMPRESSED);
}

AdviseOptions Parsed(const AdviseFlags& flags, const JobConfig& job) {
  const auto options = ParseAdviseFlags(flags, job);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.value_or(AdviseOptions());
}

std::string Refusal(const AdviseFlags& flags, const JobConfig& job) {
  const auto options = ParseAdviseFlags(flags, job);
  EXPECT_TRUE(absl::IsInvalidArgument(options.status()));
  return std::string(options.status().message());
}

TEST(AdviseFlags, AJobOnThisMachineNeedsNoBandwidth) {
  AdviseFlags flags;
  JobConfig job = Job();
  for (const char* server : {"127.0.0.1:1", "localhost:2", "[::1]:3"}) {
    job.mutable_cluster()->add_servers(server);
  }
  job.mutable_cluster()->set_num_servers(3);
  EXPECT_FALSE(Parsed(flags, job).network.bits_per_second.has_value());
  EXPECT_EQ(Parsed(flags, job).workers_here, 4);
  flags.bandwidth = "100mbit";
  EXPECT_EQ(Parsed(flags, job).network.bits_per_second, 100e6);
}

TEST(AdviseFlags, AJobOnOtherMachinesNeedsABandwidth) {
  AdviseFlags flags;
  JobConfig job = Job();
  job.mutable_cluster()->add_servers("ps-0.example:7000");
  job.mutable_cluster()->set_num_servers(1);
  EXPECT_THAT(Refusal(flags, job),
              HasSubstr("\"ps-0.example:7000\", and the network"));
  flags.bandwidth = "1gbit";
  EXPECT_EQ(Parsed(flags, job).workers_here, 1);
  flags.workers_here = 2;
  EXPECT_EQ(Parsed(flags, job).workers_here, 2);
}

TEST(AdviseFlags, OutOfTheirRangeAreRefusedWithTheRule) {
  const auto refused = [](auto set) {
    AdviseFlags flags;
    set(&flags);
    return Refusal(flags, Job());
  };
  EXPECT_THAT(refused([](auto* flags) { flags->bandwidth = "fast"; }),
              HasSubstr("--bandwidth is \"fast\"; must be a number with"));
  EXPECT_THAT(refused([](auto* flags) { flags->bandwidth = "1gbit,2gbit"; }),
              HasSubstr("--bandwidth is \"1gbit,2gbit\"; must be one"));
  EXPECT_THAT(refused([](auto* flags) { flags->burst_bytes = -1; }),
              HasSubstr("--burst is -1"));
  EXPECT_THAT(refused([](auto* flags) { flags->workers_here = 5; }),
              HasSubstr("--workers-here is 5"));
  EXPECT_THAT(refused([](auto* flags) { flags->seconds = -1; }),
              HasSubstr("--seconds is -1; must be 0 to 3600"));
  EXPECT_THAT(refused([](auto* flags) { flags->settings = "topk:2"; }),
              HasSubstr("--settings: \"topk:2\": compressor.ratio"));
  EXPECT_THAT(refused([](auto* flags) {
                flags->settings = "none,none:consistency.mode=ASYNCHRONOUS";
              }),
              HasSubstr("ASYNCHRONOUS\" does not wait for all workers"));
}

TEST(PlanFlags, HaveTheJobsNumbersUnlessOthersAreGiven) {
  PlanFlags flags;
  flags.bandwidth = "1gbit,100mbit";
  flags.burst_bytes = 7;
  auto options = ParsePlanFlags(flags, Job());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->workers, ElementsAre(4));
  EXPECT_THAT(options->servers, ElementsAre(2));
  ASSERT_EQ(options->networks.size(), 2u);
  EXPECT_EQ(options->networks[1].bits_per_second, 100e6);
  EXPECT_EQ(options->networks[1].burst_bytes, 7);
  flags.workers = "1000,8,8";
  flags.servers = "4,1";
  options = ParsePlanFlags(flags, Job());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->workers, ElementsAre(8, 1000));
  EXPECT_THAT(options->servers, ElementsAre(1, 4));
}

TEST(PlanFlags, OutOfTheirRangeAreRefusedWithTheRule) {
  const auto refused = [](auto set) {
    PlanFlags flags;
    flags.bandwidth = "1gbit";
    set(&flags);
    const auto options = ParsePlanFlags(flags, Job());
    EXPECT_TRUE(absl::IsInvalidArgument(options.status()));
    return std::string(options.status().message());
  };
  EXPECT_THAT(refused([](auto* flags) { flags->workers = "8,0"; }),
              HasSubstr("--workers has \"0\"; must be whole numbers from 1 to "
                        "1024, separated by commas"));
  EXPECT_THAT(refused([](auto* flags) { flags->workers = "8,"; }),
              HasSubstr("--workers has \"\""));
  EXPECT_THAT(refused([](auto* flags) { flags->servers = "257"; }),
              HasSubstr("--servers has \"257\"; must be whole numbers from 1"));
  EXPECT_THAT(refused([](auto* flags) { flags->bandwidth = "1gbit,100"; }),
              HasSubstr("--bandwidth is \"100\"; must be a number with"));
  EXPECT_THAT(refused([](auto* flags) { flags->burst_bytes = -1; }),
              HasSubstr("--burst is -1"));
  EXPECT_THAT(refused([](auto* flags) { flags->seconds = 3601; }),
              HasSubstr("--seconds is 3601; must be 0 to 3600"));
  EXPECT_THAT(refused([](auto* flags) { flags->settings = "topk:2"; }),
              HasSubstr("--settings: \"topk:2\": compressor.ratio"));
}

}  // namespace
}  // namespace ps
