#include "worker/layer_parallel/phase_plan.h"

#include <string>

#include "gtest/gtest.h"

namespace ps {
namespace {

// A letter for each epoch: p: parallel, r: serial and records, s: serial.
std::string Phases(int64_t epochs) {
  LayerParallelConfig config;
  config.set_warm_start_epochs(2);
  config.set_parallel_epochs(3);
  config.set_serial_epochs(2);
  const PhasePlan plan(config, epochs);
  std::string letters;
  for (int64_t i = 0; i < plan.epochs(); ++i) {
    letters += plan.parallel(i) ? 'p' : plan.records(i) ? 'r' : 's';
  }
  return letters;
}

TEST(PhasePlan, PhasesTakeTurnsAndTheLastIsSerial) {
  EXPECT_EQ(Phases(1), "s");
  EXPECT_EQ(Phases(2), "ss");
  EXPECT_EQ(Phases(4), "ssss");
  EXPECT_EQ(Phases(5), "srpss");
  EXPECT_EQ(Phases(7), "srpppss");
  EXPECT_EQ(Phases(9), "srpppssss");
  EXPECT_EQ(Phases(12), "srpppsrpppss");
}

TEST(PhasePlan, PhasesBeginAndEnd) {
  LayerParallelConfig config;
  config.set_warm_start_epochs(1);
  config.set_parallel_epochs(2);
  config.set_serial_epochs(1);
  const PhasePlan plan(config, 4);  // r p p s
  std::string begins;
  std::string ends;
  for (int64_t i = 0; i < 4; ++i) {
    begins += plan.begins(i) ? '1' : '0';
    ends += plan.ends(i) ? '1' : '0';
  }
  EXPECT_EQ(begins, "1101");
  EXPECT_EQ(ends, "1011");
}

TEST(PhasePlan, OneStageIsSerial) {
  LayerParallelConfig config;
  config.set_stages(1);
  const PhasePlan plan(config, 20);
  for (int64_t i = 0; i < 20; ++i) EXPECT_FALSE(plan.parallel(i));
}

}  // namespace
}  // namespace ps
