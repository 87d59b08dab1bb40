#include "tensor/new_backend.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tensor/precision.h"

namespace ps {
namespace {

CudaFacts Devices(int count) {
  CudaFacts facts;
  facts.num_devices = count;
  return facts;
}

DeviceOptions Named(const std::string& device, int worker_rank = 0) {
  DeviceOptions options;
  options.device = device;
  options.worker_rank = worker_rank;
  return options;
}

TEST(ChooseDeviceTest, AutoTakesADeviceByRank) {
  for (const char* name : {"auto", "cuda"}) {
    for (int rank = 0; rank < 5; ++rank) {
      DeviceOptions options = Named(name, rank);
      options.workers_on_machine = 5;
      const auto choice = ChooseDevice(options, Devices(2));
      ASSERT_TRUE(choice.ok()) << choice.status();
      EXPECT_EQ(choice->cuda_device, rank % 2);
      // Ranks 0, 2 and 4 share one device.
      EXPECT_EQ(choice->num_sharers, 3);
      EXPECT_TRUE(absl::StrContains(choice->reason, "2 devices"));
    }
  }
}

TEST(ChooseDeviceTest, AutoTakesTheCpuAndSaysWhy) {
  CudaFacts no_driver = Devices(1);
  no_driver.num_devices = absl::UnavailableError("cudaGetDeviceCount: no way");
  const std::pair<CudaFacts, const char*> cases[] = {
      {no_driver, "no way"},
      {Devices(0), "there is no CUDA device"},
  };
  for (const auto& [facts, why] : cases) {
    const auto choice = ChooseDevice(Named("auto"), facts);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_FALSE(choice->cuda_device.has_value());
    EXPECT_TRUE(absl::StrContains(choice->reason, why)) << choice->reason;
    // Requested by name, each of these is an error.
    for (const char* name : {"cuda", "cuda:0"}) {
      const absl::Status status = ChooseDevice(Named(name), facts).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      for (const char* part : {name, why, "\"auto\""}) {
        EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
      }
    }
  }
}

TEST(ChooseDeviceTest, ANumberIsTaken) {
  DeviceOptions options = Named("cuda:1", 4);
  options.workers_on_machine = 3;
  const auto choice = ChooseDevice(options, Devices(2));
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->cuda_device, 1);
  EXPECT_EQ(choice->num_sharers, 3);
  const absl::Status status =
      ChooseDevice(Named("cuda:2"), Devices(2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "has 2 CUDA devices"))
      << status;
}

TEST(ChooseDeviceTest, CpuIsTakenWhateverThereIs) {
  const auto choice = ChooseDevice(Named("cpu"), Devices(2));
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_FALSE(choice->cuda_device.has_value());
}

// Results would differ from those of the requested precision.
TEST(ChooseDeviceTest, TheCpuHasNoOtherPrecision) {
  const std::pair<Precision, const char*> precisions[] = {
      {Precision::kTf32, "training.precision is TF32"},
      {Precision::kBf16, "training.precision is BF16"}};
  for (const auto& [precision, text] : precisions) {
    DeviceOptions options = Named("cpu");
    options.precision = precision;
    absl::Status status = ChooseDevice(options, Devices(2)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    for (const char* part :
         {text, "\"cpu\"", "set training.precision to FP32"}) {
      EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
    }
    options.device = "auto";
    status = ChooseDevice(options, Devices(0)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    for (const char* part : {text, "\"auto\"", "there is no CUDA device"}) {
      EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
    }
    for (const char* name : {"auto", "cuda", "cuda:0"}) {
      options.device = name;
      const auto choice = ChooseDevice(options, Devices(1));
      ASSERT_TRUE(choice.ok()) << choice.status();
      EXPECT_EQ(choice->cuda_device, 0);
    }
  }
}

TEST(ChooseDeviceTest, RefusesWhatBreaksARule) {
  EXPECT_EQ(ChooseDevice(Named("gpu"), Devices(1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  DeviceOptions options = Named("auto");
  options.workers_on_machine = 0;
  EXPECT_EQ(ChooseDevice(options, Devices(1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChooseDevice(Named("auto", -1), Devices(1)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// On every machine there is a backend for training.
TEST(NewBackendTest, AutoWorksEverywhere) {
  DeviceOptions options;
  options.num_threads = 2;
  const auto chosen = NewBackend(options);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  ASSERT_NE(chosen->backend, nullptr);
  EXPECT_TRUE(absl::StartsWith(chosen->description,
                               std::string(chosen->backend->name())))
      << chosen->description;
  EXPECT_EQ(chosen->backend->nn().num_reorders(), 0);
}

TEST(NewBackendTest, TheCpuSaysWhyItIsUsed) {
  DeviceOptions options = Named("cpu");
  options.num_threads = 2;
  const auto chosen = NewBackend(options);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->description, "cpu (as configured)");
  options.num_threads = 0;
  EXPECT_FALSE(NewBackend(options).ok());
  options.num_threads = 1;
  options.precision = Precision::kBf16;
  EXPECT_EQ(NewBackend(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps
