// benchmarks/on_gpu in a folder with stand-ins for its programs: which of them
// it runs, how it handles their results, and how it ends.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Writes its arguments to `calls`, and the weights of a job to its run
// directory. They are the same for all jobs except those whose name is in
// `different`. Fails for the jobs in `failing`.
constexpr char kGradsieve[] = R"(#!/bin/bash
echo "$*" >>calls
for argument in "$@"; do
  case $argument in
    --run-dir=*) directory=${argument#*=} ;;
  esac
done
if [ -z "${directory:-}" ]; then exit 0; fi
name=${directory##*/}
if grep -qx "$name" failing; then echo "it broke"; exit 3; fi
mkdir -p "$directory"
weights=same
if grep -qx "$name" different; then weights=other; fi
echo $weights >"$directory/weights.safetensors"
echo '{}' >"$directory/trace.json"
echo "test accuracy 99.00 %"
)";

constexpr char kPasses[] = R"(#!/bin/sh
echo '[       OK ] Some.Case (1 ms)'
echo '[  SKIPPED ] Some.OtherCase (1 ms)'
)";

constexpr char kFails[] = R"(#!/bin/sh
echo 'what is wrong'
exit 1
)";

class OnGpu : public testing::Test {
 protected:
  OnGpu() {
    fs::create_directories(root_ / "benchmarks");
    fs::copy(ProgramPath("benchmarks/on_gpu"), root_ / "benchmarks/on_gpu");
    Program("bazel-bin/tools/gradsieve", kGradsieve);
    Program("tools/trace_picture", "#!/bin/sh\necho '<svg>'\n");
    Text("VERSION", "some commit\n");
    Text("TESTS", "");
    Text("failing", "");
    Text("different", "");
  }
  ~OnGpu() override { fs::remove_all(root_); }

  void Text(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void Program(const std::string& name, const std::string& text) {
    Text(name, text);
    fs::permissions(root_ / name, fs::perms::owner_all);
  }
  void Test(const std::string& name, const std::string& text) {
    std::ofstream(root_ / "TESTS", std::ios::app) << name << "\n";
    Program("bazel-bin/" + name, text);
  }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), root_ / "benchmarks/on_gpu");
    TestProcess process(arguments, root_ / "output");
    const int code = process.WaitForExit(absl::Seconds(60));
    output_ = process.Output();
    return code;
  }
  std::string Read(const std::string& name) const {
    return ReadFile(root_ / name).value_or("");
  }

  const fs::path root_ = NewTestDirectory();
  std::string output_;
};

TEST_F(OnGpu, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Run({"tets"}), 64);
  EXPECT_THAT(output_, HasSubstr("\"tets\" is neither an option nor a step"));
  EXPECT_EQ(Run({}), 64);
  EXPECT_THAT(output_, HasSubstr("Usage:"));
  EXPECT_EQ(Run({"train"}), 64);
  EXPECT_THAT(output_, HasSubstr("need --data=DIR"));
  fs::remove(root_ / "bazel-bin/tools/gradsieve");
  EXPECT_EQ(Run({"tests"}), 64);
  EXPECT_THAT(output_, HasSubstr("bazel-bin/tools/gradsieve is not there"));
}

TEST_F(OnGpu, RunsTheTestsOfADeviceAlone) {
  Test("tests/tensor/cuda_test", kPasses);
  Test("tests/tensor/cuda/emulated_backend_test", kFails);
  Test("tests/server/shard_test", kFails);
  EXPECT_EQ(Run({"tests"}), 0) << output_;
  EXPECT_THAT(output_,
              HasSubstr("ok tests/tensor/cuda_test: 1 cases, 1 skipped"));
  EXPECT_THAT(Read("gpu_results/machine.log"), HasSubstr("some commit"));
  EXPECT_THAT(Read("gpu_results/tests.log"), HasSubstr("ok tests/tensor"));
}

TEST_F(OnGpu, AFailedTestIsShownAndDoesNotEndTheOthers) {
  Test("tests/compressors/a_test", kFails);
  Test("tests/models/b_test", kPasses);
  EXPECT_EQ(Run({"tests"}), 1);
  EXPECT_THAT(output_, HasSubstr("FAILED tests/compressors/a_test"));
  EXPECT_THAT(output_, HasSubstr("what is wrong"));
  EXPECT_THAT(output_, HasSubstr("ok tests/models/b_test"));
  EXPECT_THAT(output_, HasSubstr("== tests: FAILED (exit code 1)"));
}

TEST_F(OnGpu, TrainsOnTheDeviceAndOnTheCpu) {
  EXPECT_EQ(Run({"--device=cuda:1", "--data=DATA", "--epochs=3", "train"}), 0)
      << output_;
  const std::string calls = Read("calls");
  EXPECT_THAT(calls, HasSubstr("machine.device=\"cuda:1\""));
  EXPECT_THAT(calls, HasSubstr("machine.device=\"cpu\""));
  EXPECT_THAT(calls, HasSubstr("data.directory=\"DATA/mnist\""));
  EXPECT_THAT(calls, HasSubstr("data.directory=\"DATA/cifar10\""));
  EXPECT_THAT(calls, HasSubstr("training.epochs=3"));
  EXPECT_THAT(calls, HasSubstr("training.precision=BF16"));
  EXPECT_THAT(output_, HasSubstr("lenet_cuda and lenet_again: the same bits"));
  EXPECT_THAT(output_, HasSubstr("resnet20_cuda: exit code 0; test accuracy"));
}

TEST_F(OnGpu, OtherBitsOrAFailedJobAreFailures) {
  Text("different", "lenet_again\n");
  EXPECT_EQ(Run({"--data=DATA", "train"}), 1);
  EXPECT_THAT(output_, HasSubstr("differ"));
  EXPECT_THAT(output_,
              HasSubstr("lenet_buckets and lenet_without_graphs: the same"));
  Text("different", "");
  Text("failing", "resnet20_bf16\n");
  EXPECT_EQ(Run({"--data=DATA", "train"}), 1);
  EXPECT_THAT(output_, HasSubstr("resnet20_bf16: exit code 3"));
  EXPECT_THAT(output_, HasSubstr("it broke"));
  EXPECT_THAT(output_, HasSubstr("resnet20_cpu: exit code 0"));
}

TEST_F(OnGpu, ATraceHasItsPicture) {
  EXPECT_EQ(Run({"--data=DATA", "trace"}), 0) << output_;
  EXPECT_THAT(Read("calls"), HasSubstr("training.trace_iteration=50"));
  EXPECT_THAT(Read("gpu_results/trace.svg"), HasSubstr("<svg>"));
}

TEST_F(OnGpu, AStepThatTakesTooLongIsEndedAndTheNextOneRuns) {
  Test("tests/tensor/slow_test", "#!/bin/sh\nexec sleep 60\n");
  EXPECT_EQ(Run({"--step-timeout=1", "--data=DATA", "tests", "trace"}), 1);
  EXPECT_THAT(output_, HasSubstr("== tests: FAILED (exit code 124)"));
  EXPECT_THAT(output_, Not(HasSubstr("trace: FAILED")));
}

}  // namespace
}  // namespace ps
