// benchmarks/on_gpu in a folder with stand-ins for its programs
// (tests/tools/on_gpu): it passes where all is well, and where one thing goes
// wrong it says so, fails, and runs everything else all the same.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/test_process.h"
#include "tests/tools/on_gpu_folder.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class OnGpu : public testing::Test, public OnGpuFolder {
 protected:
  OnGpu() {
    Install("gradsieve", "bazel-bin/tools/gradsieve");
    Install("training_step_bench",
            "bazel-bin/benchmarks/training_step/training_step_bench");
    Write("tools/trace_picture", "#!/bin/sh\necho '<svg>'\n");
    AddTest("tests/tensor/tensor_test", "test_program");
    AddTest("tests/models/models_test", "test_program");
    AddTest("tests/compressors/cuda/on_device_test", "test_program");
    // These must not run.
    AddTest("tests/tensor/cuda/emulated_backend_test", "test_program");
    AddTest("tests/models/models_on_emulated_cuda_test", "test_program");
    AddTest("tests/tools/on_gpu_test", "test_program");
  }
};

TEST_F(OnGpu, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(RunOnGpu({"tets"}), 64);
  EXPECT_THAT(output(), HasSubstr("'tets'"));
  EXPECT_EQ(RunOnGpu({}), 64);
  EXPECT_THAT(output(), HasSubstr("usage:"));
  EXPECT_EQ(RunOnGpu({"train"}), 64);
  EXPECT_THAT(output(), HasSubstr("need --data=DIR"));
  fs::remove(root() / "bazel-bin/tools/gradsieve");
  EXPECT_EQ(RunOnGpu({"tests"}), 64);
  EXPECT_THAT(output(), HasSubstr("bazel-bin/tools/gradsieve is not there"));
}

TEST_F(OnGpu, PassesWhereAllIsWell) {
  EXPECT_EQ(RunOnGpu({"--data=DATA", "--device=cuda:1", "--epochs=7", "all"}),
            0)
      << output();
  EXPECT_THAT(output(), HasSubstr("8 of 8 steps passed"));
  const nlohmann::json results = Results();
  EXPECT_EQ(results["commit"], "some commit");
  EXPECT_EQ(results["steps"].size(), 8);
  for (const auto& [name, step] : results["steps"].items()) {
    EXPECT_EQ(step["status"], "passed") << name;
  }
  const auto facts = [&results](const char* step) {
    return results["steps"][step]["facts"];
  };
  EXPECT_THAT(std::string(facts("machine")["gpu"]), HasSubstr("Rehearsal"));
  const auto tests = facts("tests")["tests/tensor/tensor_test"];
  EXPECT_EQ(tests["device_cases"], 1);
  EXPECT_EQ(tests["num_skipped"], 0);
  EXPECT_EQ(facts("tests").size(), 3);
  EXPECT_EQ(facts("train")["resnet20_bf16"]["test_accuracy"], 0.99);
  EXPECT_EQ(facts("train")["lenet_cuda"]["graphs_recorded"], 3);
  EXPECT_EQ(facts("train")["lenet_cuda"]["compression_hidden"], 0.5);
  EXPECT_EQ(facts("train")["lenet_cuda and lenet_again"], "the same bits");
  EXPECT_EQ(
      facts("goals")["goals: sidco_e, 66,000,000, ratio 0.001"]["x_bound"],
      0.1);
  EXPECT_EQ(facts("step")["step_lstm: step"]["x_torch"], 2.1);
  EXPECT_EQ(facts("sanitizer").size(), 2);  // Two tools for one program.

  const std::string calls = Read("calls");
  EXPECT_THAT(calls, AllOf(HasSubstr("machine.device=\"cuda:1\""),
                           HasSubstr("machine.device=\"cpu\""),
                           HasSubstr("training.epochs=7"),
                           HasSubstr("training.precision=BF16"),
                           HasSubstr("--device=cuda:1 --precision=bf16"),
                           HasSubstr("/DATA/cifar10")));
  // A device is required, and a sanitizer sees every allocation.
  EXPECT_THAT(calls, AllOf(HasSubstr("tensor_test 1  \n"),
                           HasSubstr("on_device_test 1 memcheck 1"),
                           HasSubstr("on_device_test 1 racecheck 1"),
                           HasSubstr("--json --fastest\n")));
  EXPECT_THAT(Read("gpu_results/trace.svg"), HasSubstr("<svg>"));
  EXPECT_THAT(Read("gpu_results/results.md"),
              AllOf(HasSubstr("Commit some commit, NVIDIA Rehearsal"),
                    HasSubstr("| step | when |"), HasSubstr("x_torch 2.1")));
  EXPECT_THAT(output(), HasSubstr("x_torch 2.1"));
}

TEST_F(OnGpu, StaysWithinItsTimeAndLeavesFewFiles) {
  Write("wrong/tensor_test", "hang");
  EXPECT_EQ(RunOnGpu({"--time-limit=5", "--collect=few", "--data=DATA", "tests",
                      "trace"}),
            1)
      << output();
  EXPECT_THAT(output(), HasSubstr("trace: not done when the time was over"));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root() / "few")) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("results.json", "results.md",
                                                   "logs.tgz"));
  const nlohmann::json results =
      nlohmann::json::parse(Read("few/results.json"));
  EXPECT_EQ(results["steps"]["tests"]["status"], "failed");
  EXPECT_EQ(results["steps"]["trace"]["status"], "failed");
}

TEST_F(OnGpu, KeepsTheStepsOfEarlierCallsWithTheSameCommit) {
  EXPECT_EQ(RunOnGpu({"tests"}), 0) << output();
  EXPECT_EQ(RunOnGpu({"--data=DATA", "trace"}), 0) << output();
  EXPECT_EQ(Results()["steps"].size(), 3);
  Write("VERSION", "another commit\n");
  EXPECT_EQ(RunOnGpu({"--data=DATA", "trace"}), 0) << output();
  EXPECT_EQ(Results()["steps"].size(), 2);
}

TEST_F(OnGpu, WhatItIsToldToEndLeavesItsResults) {
  Write("wrong/tensor_test", "hang");
  Start({"tests"});
  ASSERT_TRUE(WaitFor(absl::Seconds(60),
                      [this] { return !ProcessesWith("sleep 60").empty(); }));
  EXPECT_EQ(Terminate(), 143);
  EXPECT_EQ(Results()["steps"]["machine"]["status"], "passed");
  EXPECT_EQ(Results()["steps"]["tests"]["status"], "interrupted");
  EXPECT_TRUE(WaitFor(absl::Seconds(60),
                      [] { return ProcessesWith("sleep 60").empty(); }));
}

// One thing that goes wrong, in which step, and what is said about it.
struct Wrong {
  std::string name;
  std::string how;
  std::string step;
  std::string text;
};

void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.name << " " << wrong.how;
}

class OneThingWrong : public OnGpu,
                      public testing::WithParamInterface<Wrong> {};

TEST_P(OneThingWrong, IsSaidAndTheOtherStepsPass) {
  const auto& [name, how, step, text] = GetParam();
  Write("wrong/" + name, how);
  const std::string timeout =
      absl::StrCat("--step-timeout=", how == "hang" ? 20 : 600);
  EXPECT_EQ(RunOnGpu({"--data=DATA", timeout, step,
                      step == "trace" ? "tests" : "trace"}),
            1)
      << output();
  EXPECT_THAT(output(), HasSubstr("FAILED: "));
  EXPECT_THAT(output(), HasSubstr(text));
  const nlohmann::json steps = Results()["steps"];
  EXPECT_GE(steps.size(), 2);
  for (const auto& [each, result] : steps.items()) {
    EXPECT_EQ(result["status"], each == step ? "failed" : "passed") << each;
    EXPECT_EQ(result["failures"].empty(), each != step);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Things, OneThingWrong,
    testing::Values(
        Wrong{"nvidia-smi", "", "machine", "shows no device: No devices"},
        Wrong{"doctor", "", "machine", "MISSING cuBLAS"},
        Wrong{"models_test", "skip", "tests", "1 cases were skipped: Suite"},
        Wrong{"models_test", "no_device", "tests", "no case has used the dev"},
        Wrong{"models_test", "crash", "tests", "exit code 139\nwhat is wrong"},
        Wrong{"models_test", "case", "tests", "Suite.CaseOnDevice failed"},
        Wrong{"models_test", "no_report", "tests", "has written no report"},
        Wrong{"models_test", "hang", "tests", "when the time was over"},
        Wrong{"on_device_test", "race", "sanitizer", "exit code 9"},
        Wrong{"lenet_cuda", "crash", "train", "lenet_cuda: exit code 139"},
        Wrong{"lenet_again", "bits", "train", "lenet_again have different"},
        Wrong{"resnet20_cpu", "hang", "train", "resnet20_cpu: not done when"},
        Wrong{"resnet20_bf16", "accuracy", "train", "0.1000 is more than"},
        Wrong{"lenet_cuda", "not_a_number", "train", "lenet_cuda: "},
        Wrong{"resnet20_tf32", "not_recorded", "train", "0 CUDA graphs were"},
        Wrong{"resnet20_cuda", "recording_failed", "train", "and 1 failed"},
        Wrong{"bench", "slow", "goals", "goal missed: sidco_e at most"},
        Wrong{"training_step_bench", "slow", "step", "goal missed: resnet50"},
        Wrong{"training_step_bench", "not_recorded", "step", "not recorded"},
        Wrong{"training_step_bench", "crash", "step", "exit code 1"},
        Wrong{"trace", "crash", "trace", "trace: exit code 139"}),
    [](const testing::TestParamInfo<Wrong>& info) {
      std::string name = absl::StrCat(info.param.name, "_", info.param.how);
      for (char& c : name) {
        if (c == '-') c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace ps
