#include "tools/advise/plan.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kParameters = 4 * ShardMap::kElementsPerSlice;

// Four slices of 1 MB, dense, and answers of half the size.
MeasuredSetting Dense() {
  MeasuredSetting setting;
  ScalingMeasures& measures = setting.measures;
  measures.one.compute = 0.01;
  measures.one.codec = 0.001;
  measures.one.bytes_up = 4e6;
  measures.one.bytes_down = 2e6;
  measures.one.achieved_ratio = 1;
  measures.one.num_parameters = kParameters;
  measures.two = measures.four = measures.one;
  for (double LocalMeasures::*bytes :
       {&LocalMeasures::bytes_up, &LocalMeasures::bytes_down}) {
    measures.two.*bytes *= 2;
    measures.four.*bytes *= 4;
  }
  for (const int workers : {2, 1000}) {
    for (const int servers : {1, 2}) {
      setting.memory.server_bytes[{workers, servers}] =
          (int64_t{workers} << 20) / servers;
    }
  }
  setting.memory.worker_bytes = 5 << 20;
  return setting;
}

PlanOptions Options() {
  PlanOptions options;
  for (const char* name : {"none", "topk"}) {
    NetworkSetting setting;
    setting.name = name;
    setting.config.set_name("job");
    options.settings.push_back(setting);
  }
  options.workers = {2, 1000};
  options.servers = {1, 2};
  for (const double bits_per_second : {1e8, 1e12}) {
    JobNetwork network;
    network.bits_per_second = bits_per_second;
    options.networks.push_back(network);
  }
  return options;
}

Plan Made(const MeasuredSetting& second) {
  const auto plan = MakePlan(Options(), {Dense(), second});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.value_or(Plan());
}

// A hundredth of the bytes, whatever others send.
MeasuredSetting Sparse() {
  MeasuredSetting sparse = Dense();
  for (LocalMeasures* measures :
       {&sparse.measures.one, &sparse.measures.two, &sparse.measures.four}) {
    measures->bytes_up /= 100;
    measures->bytes_down /= 100;
    measures->achieved_ratio = 0.01;
  }
  return sparse;
}

TEST(Plan, HasARowForEachCombinationAndChoosesForEachNetwork) {
  const Plan plan = Made(Sparse());
  ASSERT_EQ(plan.rows.size(), 8u);
  ASSERT_EQ(plan.choices.size(), 4u);
  // At 100 Mbit/s a server's link limits, and everything is divided by servers.
  const PlanRow& one = plan.rows[2];
  const PlanRow& two = plan.rows[3];
  EXPECT_EQ(one.workers, 1000);
  EXPECT_EQ(two.servers, 2);
  EXPECT_NEAR(one.settings[0].busiest_up.bytes, 4e9, 1);
  EXPECT_NEAR(one.settings[0].iteration / two.settings[0].iteration, 2, 0.1);
  EXPECT_GT(one.settings[0].iteration, 50 * one.settings[1].iteration);
  const PlanChoice& slow = plan.choices[1];
  EXPECT_EQ(slow.row, 3u);
  EXPECT_EQ(slow.setting, 1u);
  ASSERT_TRUE(slow.doubled.has_value());
  EXPECT_LT(*slow.doubled, 0.7 * two.settings[1].iteration);
  // With two workers at 1 Tbit/s only computation takes time.
  const PlanChoice& fast = plan.choices[2];
  EXPECT_EQ(fast.row, 4u) << "the fewest servers";
  EXPECT_EQ(fast.setting, 0u) << "without compression";
}

TEST(Plan, SaysWhatLimitsTheLargestNumberOfWorkers) {
  const Plan plan = Made(Sparse());
  EXPECT_THAT(
      PlanReport(plan),
      AllOf(HasSubstr("job: 8,192 parameters, each worker and each server on a "
                      "machine like this one\n"),
            HasSubstr("over links of 100 Mbit/s each way:\n\nworkers  servers"),
            HasSubstr("server link, up"), HasSubstr("compute"),
            HasSubstr("With 1,000 workers at 100 Mbit/s, take \"topk\" and 2 "
                      "servers: an iteration takes "),
            HasSubstr("each server's link is busy with pushes for "),
            HasSubstr("with twice as many servers it would take ")));
}

TEST(Plan, SettingsComputeAsFastAsTheFastestMeasurement) {
  MeasuredSetting noisy = Sparse();
  noisy.measures.one.compute = 1;
  const Plan plan = Made(noisy);
  EXPECT_EQ(plan.rows[0].settings[0].compute, 0.01);
  EXPECT_EQ(plan.rows[0].settings[1].compute, 0.01);
}

TEST(Plan, SaysThatAModelCannotBeCutFurther) {
  PlanOptions options = Options();
  options.servers = {4};
  MeasuredSetting dense = Dense();
  for (const int workers : options.workers) {
    dense.memory.server_bytes[{workers, 4}] = 1;
  }
  const auto plan = MakePlan(options, {dense, dense});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->choices[1].doubled.has_value());
  EXPECT_THAT(ChoiceText(*plan, plan->choices[1]),
              HasSubstr("the model cannot be cut among twice as many servers"));
}

TEST(Plan, NamesEveryBottleneck) {
  const auto limit = [](auto change) {
    MeasuredSetting setting = Dense();
    change(&setting.measures);
    PlanOptions options = Options();
    options.settings.resize(1);
    const auto plan = MakePlan(options, {setting});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return ChoiceText(*plan, plan->choices.back());  // 1 Tbit/s.
  };
  EXPECT_THAT(limit([](ScalingMeasures* m) { m->one.compute = 1e3; }),
              HasSubstr("computation takes 100 % of it"));
  EXPECT_THAT(limit([](ScalingMeasures* m) { m->one.codec = 1e3; }),
              HasSubstr("into the weights, takes 100 % of it"));
  EXPECT_THAT(limit([](ScalingMeasures* m) {
                m->four.server = m->four.server_sum = 10;
              }),
              HasSubstr("each server computes for "));
  EXPECT_THAT(limit([](ScalingMeasures* m) { m->four.bytes_down *= 1e6; }),
              HasSubstr("each server's link is busy with answers for"));
}

TEST(Plan, JsonHasAllSettingsOfAllCombinations) {
  const auto json = nlohmann::json::parse(PlanJson(Made(Sparse())));
  EXPECT_EQ(json["num_parameters"], kParameters);
  ASSERT_EQ(json["combinations"].size(), 8u);
  const auto& combination = json["combinations"][3];
  EXPECT_EQ(combination["workers"], 1000);
  EXPECT_EQ(combination["servers"], 2);
  EXPECT_EQ(combination["bits_per_second"], 1e8);
  ASSERT_EQ(combination["settings"].size(), 2u);
  EXPECT_EQ(combination["settings"][0]["setting"], "none");
  EXPECT_EQ(combination["settings"][0]["server_memory_bytes"], 500 << 20);
  EXPECT_EQ(combination["settings"][1]["worker_memory_bytes"], 5 << 20);
  EXPECT_EQ(json["choices"][1]["setting"], "topk");
  EXPECT_EQ(json["choices"][1]["servers"], 2);
}

}  // namespace
}  // namespace ps
