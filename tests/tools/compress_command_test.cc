// `gradsieve compress` as a process: its output obeys the compressors' law, and
// when it refuses a request it leaves no files.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/file.h"
#include "common/random.h"
#include "formats/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kElements = 5003;
constexpr int64_t kIterations = 4;

std::vector<float> LaplaceRows(int64_t rows) {
  RandomStream random(RandomKey(7));
  std::vector<float> values(rows * kElements);
  for (float& each : values) {
    const double magnitude = -std::log(1 - random.Uniform());
    each = static_cast<float>(random.Next() % 2 == 0 ? magnitude : -magnitude);
  }
  return values;
}

class CompressCommand : public CommandTest {
 protected:
  CompressCommand() : gradients_(LaplaceRows(kIterations)) {
    WriteRows(gradients_);
  }

  void WriteRows(const std::vector<float>& values) {
    auto writer = NpyWriter<float>::Create(Path("g.npy"));
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Append(values).ok());
    ASSERT_TRUE(writer->CommitRows(kElements).ok());
  }

  int Compress(const std::string& compressor,
               const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "compress", "--compressor=" + compressor, "--gradient=" + Path("g.npy"),
        "--output=" + Path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Gradsieve(arguments);
  }

  // Reads the command's files and checks the law for each element: residual
  // before + gradient = decoded + residual after. The residual is computed from
  // zero on; its last value is in a file.
  void ExpectLaw(bool error_feedback) {
    const auto indices = ReadNpy<int64_t>(Path("out/indices.npy"));
    const auto values = ReadNpy<float>(Path("out/values.npy"));
    const auto offsets = ReadNpy<int64_t>(Path("out/offsets.npy"));
    const auto residual = ReadNpy<float>(Path("out/residual.npy"));
    ASSERT_TRUE(indices.ok()) << indices.status();
    ASSERT_TRUE(values.ok()) << values.status();
    ASSERT_TRUE(offsets.ok()) << offsets.status();
    ASSERT_TRUE(residual.ok()) << residual.status();
    ASSERT_THAT(residual->shape, ElementsAre(kElements));
    ASSERT_EQ(values->elements.size(), indices->elements.size());
    ASSERT_EQ(offsets->elements.size(), kIterations + 1);
    EXPECT_EQ(offsets->elements.front(), 0);
    EXPECT_EQ(offsets->elements.back(),
              static_cast<int64_t>(indices->elements.size()));
    std::vector<float> u(kElements);
    for (int64_t t = 0; t < kIterations; ++t) {
      const std::vector<float> before =
          error_feedback ? u : std::vector<float>(kElements);
      for (int64_t i = 0; i < kElements; ++i) {
        u[i] = before[i] + gradients_[t * kElements + i];
      }
      int64_t last = -1;
      for (int64_t j = offsets->elements[t]; j < offsets->elements[t + 1];
           ++j) {
        const int64_t index = indices->elements[j];
        ASSERT_GT(index, last);
        ASSERT_LT(index, kElements);
        u[index] -= values->elements[j];
        last = index;
      }
    }
    if (!error_feedback) u.assign(kElements, 0.0f);
    for (int64_t i = 0; i < kElements; ++i) {
      ASSERT_EQ(residual->elements[i], u[i]) << i;
    }
  }

  nlohmann::json Summary() {
    return nlohmann::json::parse(*ReadFile(Path("out/summary.json")));
  }

  std::vector<float> gradients_;
};

TEST_F(CompressCommand, WhatIsDecodedAndWhatIsKeptIsTheGradient) {
  // Threshold and exact selection, lossy values, random rounding, and all
  // elements; each replaces the files of the one before.
  for (const char* compressor :
       {"name: \"sidco_e\" ratio: 0.01", "name: \"topk\" ratio: 0.003",
        "name: \"topk\" ratio: 0.1 value_code: \"sign\"",
        "name: \"none\" value_code: \"qsgdinf\"", "name: \"none\""}) {
    ASSERT_EQ(Compress(compressor), 0) << output();
    ExpectLaw(/*error_feedback=*/true);
  }
}

TEST_F(CompressCommand, WithoutErrorFeedbackNothingIsKept) {
  ASSERT_EQ(Compress("name: \"topk\" ratio: 0.01 error_feedback: false"), 0)
      << output();
  ExpectLaw(/*error_feedback=*/false);
}

TEST_F(CompressCommand, SummaryHasEveryIteration) {
  ASSERT_EQ(Compress("name: \"topk\" ratio: 0.01"), 0) << output();
  const nlohmann::json summary = Summary();
  EXPECT_EQ(summary["elements"], kElements);
  ASSERT_EQ(summary["iterations"].size(), kIterations);
  const auto offsets = ReadNpy<int64_t>(Path("out/offsets.npy"));
  for (int64_t t = 0; t < kIterations; ++t) {
    const nlohmann::json& each = summary["iterations"][t];
    EXPECT_EQ(each["count"], 50);
    EXPECT_EQ(each["target_count"], 50);
    EXPECT_EQ(each["raw_count"], 50);
    EXPECT_EQ(each["stages"], 0);
    EXPECT_GT(each["threshold"], 1.0);
    EXPECT_EQ(each["value_bytes"], 200);
    EXPECT_GT(each["index_bytes"], 0);
    EXPECT_EQ(each["payload_bytes"],
              32 + 200 + each["index_bytes"].get<int64_t>());
    EXPECT_GT(each["seconds"], 0);
    EXPECT_EQ(offsets->elements[t + 1] - offsets->elements[t], 50);
  }
  EXPECT_THAT(output(), AllOf(HasSubstr("4 of 5,003 elements"),
                              HasSubstr("1.000 x target")));
}

TEST_F(CompressCommand, VotesNeedNobodyWhoCountsThem) {
  ASSERT_EQ(Compress("name: \"none\" value_code: \"sign\" "
                     "values { sign_scale: ONE } error_feedback: false"),
            0)
      << output();
  const auto values = ReadNpy<float>(Path("out/values.npy"));
  ASSERT_TRUE(values.ok()) << values.status();
  for (const float vote : values->elements) ASSERT_EQ(std::fabs(vote), 1);
}

TEST_F(CompressCommand, OnlyATargetIsComparedWith) {
  for (const char* compressor :
       {"name: \"none\"", "name: \"threshold\" threshold { threshold: 1 }",
        "name: \"adacomp\""}) {
    ASSERT_EQ(Compress(compressor), 0) << output();
    EXPECT_THAT(output(),
                AllOf(HasSubstr("achieved ratio"), Not(HasSubstr("target"))));
  }
}

TEST_F(CompressCommand, OneGradientIsOneIteration) {
  ASSERT_TRUE(WriteNpy<float>(Path("g.npy"), {3.0f, -1.0f, 0.0f, 7.5f}).ok());
  ASSERT_EQ(Compress("name: \"topk\" ratio: 0.5"), 0) << output();
  EXPECT_THAT(ReadNpy<int64_t>(Path("out/indices.npy"))->elements,
              ElementsAre(0, 3));
  EXPECT_THAT(ReadNpy<float>(Path("out/values.npy"))->elements,
              ElementsAre(3.0f, 7.5f));
  EXPECT_THAT(ReadNpy<int64_t>(Path("out/offsets.npy"))->elements,
              ElementsAre(0, 2));
  EXPECT_THAT(ReadNpy<float>(Path("out/residual.npy"))->elements,
              ElementsAre(0.0f, -1.0f, 0.0f, 0.0f));
}

TEST_F(CompressCommand, EmptyArraysAreRefused) {
  ASSERT_TRUE(WriteNpy<float>(Path("g.npy"), {}).ok());
  EXPECT_EQ(Compress("name: \"topk\""), 78);
  EXPECT_THAT(output(), HasSubstr("g.npy: shape is (0,); a gradient must"));
  WriteRows({});  // [0, kElements].
  EXPECT_EQ(Compress("name: \"topk\""), 78);
  EXPECT_THAT(output(), HasSubstr("g.npy: there are no rows yet"));
}

TEST_F(CompressCommand, AFileSaysTheSameAsItsText) {
  const std::string text = "name: \"sidco_gp\"\nratio: 0.01\n";
  std::ofstream(Path("c.textproto")) << "# The same.\n" << text;
  ASSERT_EQ(Compress(text), 0) << output();
  const std::string indices = *ReadFile(Path("out/indices.npy"));
  ASSERT_EQ(Compress(Path("c.textproto")), 0) << output();
  EXPECT_EQ(*ReadFile(Path("out/indices.npy")), indices);
}

TEST_F(CompressCommand, SeedDecidesRandomDrawsAndThreadsDoNot) {
  const std::string compressor = "name: \"randomk\" ratio: 0.01";
  ASSERT_EQ(Compress(compressor, {"--seed=3"}), 0) << output();
  const std::string indices = *ReadFile(Path("out/indices.npy"));
  ASSERT_EQ(Compress(compressor, {"--seed=3", "--threads=2"}), 0) << output();
  EXPECT_TRUE(*ReadFile(Path("out/indices.npy")) == indices);
  ASSERT_EQ(Compress(compressor, {"--seed=4"}), 0) << output();
  EXPECT_FALSE(*ReadFile(Path("out/indices.npy")) == indices);
}

TEST_F(CompressCommand, ABadCompressorIsRefusedWithTheReason) {
  EXPECT_EQ(Compress("name: \"topk\" ratoi: 0.1"), 78);
  EXPECT_THAT(output(), AllOf(StartsWith("gradsieve compress: --compressor:1:"),
                              HasSubstr("no field \"ratoi\""),
                              HasSubstr("did you mean \"ratio\"?")));
  EXPECT_EQ(Compress("name: \"tpok\" ratio: 2"), 78);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("compressor.name is \"tpok\"; must be one of"),
                    HasSubstr("compressor.ratio is 2; must be in")));
  EXPECT_EQ(Compress("name: \"powersgd\""), 78);
  EXPECT_THAT(output(), HasSubstr("\"powersgd\"; needs the shapes of the "
                                  "tensors, which a vector, as in a .npy "
                                  "file, does not have"));
  EXPECT_EQ(Compress("topk"), 78);
  EXPECT_THAT(output(), AllOf(HasSubstr("there is no file \"topk\""),
                              HasSubstr("'name: \"topk\" ratio: 0.01'")));
  std::ofstream(Path("c.textproto")) << "name: \"topk\"\nratio: many\n";
  EXPECT_EQ(Compress(Path("c.textproto")), 78);
  EXPECT_THAT(output(), HasSubstr("c.textproto:2:8: "));
  EXPECT_THAT(Names(""), ElementsAre("c.textproto", "g.npy"));
}

TEST_F(CompressCommand, ABadGradientFileIsRefusedWithTheReason) {
  const std::string topk = "name: \"topk\"";
  ASSERT_TRUE(WriteNpy<int64_t>(Path("g.npy"), {1, 2, 3}).ok());
  EXPECT_EQ(Compress(topk), 78);
  EXPECT_THAT(output(), AllOf(HasSubstr("g.npy: dtype ('descr') is '<i8'"),
                              HasSubstr("astype('<f4')")));
  std::ofstream(Path("g.npy")) << "1.0 2.0 3.0";
  EXPECT_EQ(Compress(topk), 78);
  EXPECT_THAT(output(), HasSubstr("g.npy: not a .npy file"));
  // An unlimited number of rows without a byte.
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, "
      "'shape': (1152921504606846976, 0)}";
  std::ofstream(Path("g.npy"))
      << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size())
      << '\0' << header;
  EXPECT_EQ(Compress(topk), 78);
  EXPECT_THAT(output(),
              HasSubstr("shape is (1152921504606846976, 0); a gradient"));
  std::filesystem::remove(Path("g.npy"));
  EXPECT_EQ(Compress(topk), 78);
  EXPECT_THAT(output(), AllOf(HasSubstr("cannot open "), HasSubstr("g.npy"),
                              HasSubstr("No such file")));
  EXPECT_THAT(Names(""), IsEmpty());
}

TEST_F(CompressCommand, ANonFiniteGradientIsNamedAndLeavesTheOldResult) {
  ASSERT_EQ(Compress("name: \"topk\" ratio: 0.01"), 0) << output();
  const std::string summary = *ReadFile(Path("out/summary.json"));
  gradients_[2 * kElements + 17] = std::numeric_limits<float>::quiet_NaN();
  WriteRows(gradients_);
  EXPECT_EQ(Compress("name: \"topk\" ratio: 0.1"), 78);
  EXPECT_THAT(output(),
              HasSubstr("g.npy, row 2 (from 0): element 17 is nan; leave "
                        "the row out"));
  EXPECT_THAT(Names("out"),
              ElementsAre("indices.npy", "offsets.npy", "residual.npy",
                          "summary.json", "values.npy"));
  EXPECT_EQ(*ReadFile(Path("out/summary.json")), summary);
}

TEST_F(CompressCommand, AnOutputThatCannotBeWrittenIsNamed) {
  // A file in place of a folder, so that even root cannot write there.
  std::ofstream(Path("out")) << "taken";
  EXPECT_EQ(Compress("name: \"topk\""), 1);
  EXPECT_THAT(output(), HasSubstr(Path("out")));
  EXPECT_EQ(*ReadFile(Path("out")), "taken");
  EXPECT_EQ(
      Gradsieve({"compress", "--compressor=name: \"topk\"",
                 "--gradient=" + Path("g.npy"), "--output=/proc/gradsieve"}),
      1);
  EXPECT_THAT(output(), HasSubstr("/proc/gradsieve"));
}

TEST_F(CompressCommand, ABadCommandLineIsRefused) {
  EXPECT_EQ(Gradsieve({"compress", "--gradient=g.npy"}), 64);
  EXPECT_THAT(output(), HasSubstr("--compressor"));
  EXPECT_EQ(Compress("name: \"topk\"", {"--sede=1"}), 64);
  EXPECT_THAT(output(), HasSubstr("--seed"));
  EXPECT_EQ(Compress("name: \"topk\"", {"--threads=0"}), 64);
  EXPECT_THAT(output(), HasSubstr("--threads is 0; must be in [1, 1024]"));
  EXPECT_EQ(Compress("name: \"topk\"", {"--seed=-1"}), 64);
  EXPECT_EQ(Compress(""), 64);
  EXPECT_THAT(output(), HasSubstr("--compressor is empty"));
  EXPECT_EQ(Gradsieve({"compres"}), 64);
  EXPECT_THAT(output(), HasSubstr("did you mean \"compress\"?"));
  EXPECT_EQ(Gradsieve({"compress", "--help"}), 0);
  EXPECT_THAT(output(), AllOf(HasSubstr("--gradient"), HasSubstr("sidco_e")));
  EXPECT_THAT(Names(""), ElementsAre("g.npy"));
}

}  // namespace
}  // namespace ps
