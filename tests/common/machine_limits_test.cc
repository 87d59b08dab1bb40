#include "common/machine_limits.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace ps {
namespace {

class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/pod/container");
  }

  void Write(const std::string& file, const std::string& text) {
    std::ofstream(root_ + file) << text;
  }

  const std::string root_ = ::testing::TempDir() + "/control_groups";
};

TEST_F(ControlGroups, TheLeastLimitOfThoseAboveCounts) {
  Write("/pod/cpu.max", "250000 100000\n");
  Write("/pod/memory.max", "max\n");
  Write("/pod/container/cpu.max", "max 100000\n");
  Write("/pod/container/memory.max", "4096\n");
  const ControlGroupLimits limits =
      ReadControlGroupLimits("1:cpu:/other\n0::/pod/container\n", root_);
  EXPECT_EQ(limits.bytes, 4096);
  EXPECT_EQ(limits.cores, 2.5);
}

TEST_F(ControlGroups, LimitsOfTheFirstVersionCount) {
  for (const char* const folder : {"/memory/pod", "/cpu/pod"}) {
    std::filesystem::create_directories(root_ + folder);
  }
  Write("/memory/pod/memory.limit_in_bytes", "4096\n");
  Write("/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/cpu/pod/cpu.cfs_quota_us", "-1\n");
  Write("/cpu/pod/cpu.cfs_period_us", "100000\n");
  Write("/cpu/cpu.cfs_quota_us", "150000\n");
  Write("/cpu/cpu.cfs_period_us", "100000\n");
  const ControlGroupLimits limits = ReadControlGroupLimits(
      "5:cpuacct,cpu:/pod\n4:memory:/pod\n1:name=systemd:/pod\n", root_);
  EXPECT_EQ(limits.bytes, 4096);
  EXPECT_EQ(limits.cores, 1.5);
}

TEST_F(ControlGroups, WhatIsNotALimitIsNone) {
  Write("/pod/cpu.max", "many\n");
  Write("/pod/container/cpu.max", "100000 0\n");
  for (const char* const membership :
       {"0::/pod/container\n", "0::/gone\n", "4:memory:/pod\n", ""}) {
    const ControlGroupLimits limits = ReadControlGroupLimits(membership, root_);
    EXPECT_EQ(limits.bytes, std::numeric_limits<int64_t>::max());
    EXPECT_EQ(limits.cores, std::numeric_limits<double>::infinity());
  }
}

TEST(MachineLimits, ArePositive) {
  EXPECT_GE(MachineCores(), 1);
  EXPECT_GT(MachineMemoryBytes(), 0);
}

TEST(MachineLimits, ProcessesWithOtherProcessorsShareNone) {
  const std::string own = CoresId();
  EXPECT_EQ(CoresId(), own);
  EXPECT_LE(own.size(), 512u);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "there is only one processor";
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t fewer = before;
  CPU_CLR(first, &fewer);
  ASSERT_EQ(sched_setaffinity(0, sizeof(fewer), &fewer), 0);
  const int cores = MachineCores();
  const std::string other = CoresId();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(cores, std::min(CPU_COUNT(&before) - 1, MachineCores()));
  EXPECT_NE(other, own);
}

}  // namespace
}  // namespace ps
