#include "common/device_name.h"

#include <string>

#include "gtest/gtest.h"

namespace ps {
namespace {

using Kind = DeviceName::Kind;

TEST(DeviceNameTest, ReadsEveryForm) {
  EXPECT_EQ(ParseDeviceName("auto")->kind, Kind::kAuto);
  EXPECT_EQ(ParseDeviceName("cpu")->kind, Kind::kCpu);
  const auto any = ParseDeviceName("cuda");
  EXPECT_EQ(any->kind, Kind::kCuda);
  EXPECT_FALSE(any->cuda_index.has_value());
  for (const int index : {0, 7, 1023}) {
    const auto one = ParseDeviceName("cuda:" + std::to_string(index));
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one->kind, Kind::kCuda);
    EXPECT_EQ(one->cuda_index, index);
  }
}

TEST(DeviceNameTest, RefusesEverythingElse) {
  for (const char* name :
       {"", "CUDA", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1 ",
        "cuda:1024", "cuda:1x", "cuda:99999999999", "cpu:0", "auto "}) {
    EXPECT_FALSE(ParseDeviceName(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace ps
