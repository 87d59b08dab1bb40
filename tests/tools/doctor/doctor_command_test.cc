#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tensor/cuda/cuda_support.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

int BuildVersion() {
  const CudaSupport* const cuda = FindCudaSupport();
  return cuda == nullptr ? 0 : cuda->build_version;
}

using ::testing::AllOf;
using ::testing::HasSubstr;

class Doctor : public CommandTest {
 protected:
  // Runs `gradsieve doctor` with CUDA's libraries from the test's folder.
  // Returns its output.
  std::string LookOnly(bool require_cuda = false) {
    std::vector<std::string> arguments = {
        "/usr/bin/env", absl::StrCat("LD_LIBRARY_PATH=", Path("libraries")),
        ProgramPath("tools/gradsieve"), "doctor", "--no-training"};
    if (require_cuda) arguments.push_back("--require-cuda");
    TestProcess process(arguments, Path("output"));
    EXPECT_EQ(process.WaitForExit(absl::Seconds(100)), require_cuda ? 1 : 0)
        << process.Output();
    return process.Output();
  }

  void AddFake(const std::string& name) {
    std::filesystem::create_directories(Path("libraries"));
    // Not a link, because the loader would treat two names of one file as one
    // library.
    std::filesystem::copy_file(
        ProgramPath("tests/tools/doctor/libfake_cuda.so"),
        Path("libraries/" + name));
  }
};

TEST_F(Doctor, SaysThatTrainingWorksAfterItHasTrained) {
  EXPECT_EQ(Gradsieve({"doctor"}), 0) << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("This machine"), HasSubstr("glibc 2."),
                              HasSubstr("127.0.0.1:"), HasSubstr("CUDA"),
                              HasSubstr("a server and a worker have trained")));
}

TEST_F(Doctor, SaysTheSameAsJson) {
  EXPECT_EQ(Gradsieve({"doctor", "--no-training", "--json"}), 0) << output();
  const Json result = ParseJson(output());
  ASSERT_TRUE(result.is_object()) << output();
  EXPECT_EQ(result["works"], true);
  std::string text;
  for (const Json& finding : result["findings"]) {
    EXPECT_EQ(finding["missing"].get<bool>(),
              !finding["consequence"].get<std::string>().empty());
    text += finding["text"].get<std::string>();
  }
  EXPECT_THAT(text, HasSubstr("glibc 2."));
}

TEST_F(Doctor, AnUnknownOptionIsNamed) {
  EXPECT_EQ(Gradsieve({"doctor", "--no-trainign"}), 64);
  EXPECT_THAT(output(), HasSubstr("--no-training"));
}

TEST_F(Doctor, SaysWhereLibrariesAreAndOfWhichVersion) {
  const int major = BuildVersion() / 1000;
  if (major == 0) {
    EXPECT_THAT(LookOnly(), HasSubstr("was made without the CUDA toolkit"));
    GTEST_SKIP() << "this build has no CUDA support";
  }
  const std::string cublas = absl::StrCat("libcublas.so.", major);
  AddFake(cublas);
  AddFake("libcudnn.so.9");
  EXPECT_THAT(LookOnly(),
              AllOf(HasSubstr("71.72.73, " + Path("libraries/" + cublas)),
                    HasSubstr("9.87.65, " + Path("libraries/libcudnn.so.9"))));
}

TEST_F(Doctor, SaysWhatAnOldDriverAndNoDeviceMean) {
  if (BuildVersion() == 0) GTEST_SKIP() << "this build has no CUDA support";
  AddFake("libcuda.so.1");
  EXPECT_THAT(LookOnly(), AllOf(HasSubstr("for CUDA up to 9.2, " +
                                          Path("libraries/libcuda.so.1")),
                                HasSubstr("install a newer driver"),
                                HasSubstr("MISSING devices        none"),
                                HasSubstr("training on a GPU does not work")));
  // Which fails only on request.
  EXPECT_THAT(LookOnly(/*require_cuda=*/true),
              HasSubstr("MISSING devices        none"));
}

}  // namespace
}  // namespace ps
