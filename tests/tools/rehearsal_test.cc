// benchmarks/on_gpu from end to end, as it runs on a machine with a GPU: with
// the real gradsieve, server and worker and a real test program, whose device
// is emulated. Doctor, NVIDIA's programs and PyTorch have stand-ins.
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/on_gpu_folder.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

constexpr char kLabel = 3;  // Of all images, so that all jobs learn it.

std::string Idx(const std::vector<int>& dimensions, char value) {
  std::string bytes = {0, 0, 8, static_cast<char>(dimensions.size())};
  size_t size = 1;
  for (const int dimension : dimensions) {
    bytes += {0, 0, 0, static_cast<char>(dimension)};
    size *= static_cast<size_t>(dimension);
  }
  return bytes + std::string(size, value);
}

class Rehearsal : public testing::Test, public OnGpuFolder {
 protected:
  Rehearsal() {
    Install("gradsieve_on_emulated_device", "bazel-bin/tools/gradsieve");
    Install("tests/tools/emulated_gradsieve", "bazel-bin/emulated/gradsieve");
    Install("tests/tools/emulated_worker", "bazel-bin/emulated/worker");
    Install("server/server", "bazel-bin/emulated/server");
    Install("training_step_bench",
            "bazel-bin/benchmarks/training_step/training_step_bench");
    Install("tools/trace_picture", "tools/trace_picture");
    AddTest("tests/compressors/cuda/on_device_test",
            "tests/compressors/cuda/emulated_test");
    Write("DATA/mnist/train-images-idx3-ubyte", Idx({8, 28, 28}, 100));
    Write("DATA/mnist/train-labels-idx1-ubyte", Idx({8}, kLabel));
    Write("DATA/mnist/t10k-images-idx3-ubyte", Idx({2, 28, 28}, 100));
    Write("DATA/mnist/t10k-labels-idx1-ubyte", Idx({2}, kLabel));
    const std::string image = kLabel + std::string(3 * 32 * 32, 100);
    for (const char* const part :
         {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
          "data_batch_5", "test_batch"}) {
      Write("DATA/cifar10/" + std::string(part) + ".bin", image);
    }
  }
};

TEST_F(Rehearsal, EveryStepPassesOnTheEmulatedDevice) {
  EXPECT_EQ(RunOnGpu({"--data=DATA", "--time-limit=600", "all"}), 0)
      << output();
  const nlohmann::json steps = Results()["steps"];
  EXPECT_EQ(steps.size(), 8);
  for (const auto& [name, step] : steps.items()) {
    EXPECT_EQ(step["status"], "passed") << name << ": " << step["failures"];
  }
  const nlohmann::json program =
      steps["tests"]["facts"]["tests/compressors/cuda/on_device_test"];
  EXPECT_GT(program["device_cases"], 10) << program;
  EXPECT_EQ(program["other_cases"], 0) << program;
  const nlohmann::json jobs = steps["train"]["facts"];
  EXPECT_EQ(jobs["lenet_cuda and lenet_again"], "the same bits");
  EXPECT_EQ(jobs["lenet_buckets and lenet_without_graphs"], "the same bits");
  EXPECT_GT(jobs["resnet20_bf16"]["graphs_recorded"], 0);
  EXPECT_GT(fs::file_size(root() / "gpu_results/trace.svg"), 1000);
}

}  // namespace
}  // namespace ps
