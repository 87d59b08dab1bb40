// `gradsieve bench` as a process: its rows, its JSON and the options that it
// refuses. tests/tools/bench/compressors/compression_check_test.cc tests that
// the verification finds mistakes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/file.h"
#include "compressors/compressor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BenchCommand : public CommandTest {
 protected:
  int Bench(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"bench", "compressors", "--rounds=1"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Gradsieve(all);
  }

  // Runs it, and reads its JSON.
  nlohmann::json Rows(std::vector<std::string> arguments) {
    arguments.push_back("--json=" + Path("bench.json"));
    EXPECT_EQ(Bench(arguments), 0) << output();
    return nlohmann::json::parse(*ReadFile(Path("bench.json")));
  }
};

TEST_F(BenchCommand, EveryRegisteredCompressorPassesVerification) {
  // Enough elements for an estimate of the threshold, and few enough for a
  // sanitizer.
  const nlohmann::json rows = Rows({"--sizes=400000", "--ratios=0.01"});
  std::vector<std::string> names;
  for (const auto& row : rows) {
    names.push_back(row["name"]);
    EXPECT_THAT(output(), HasSubstr("\n" + names.back() + " "));
  }
  std::vector<std::string> expected = CompressorRegistry().Names();
  expected.erase(std::find(expected.begin(), expected.end(), "powersgd"));
  EXPECT_EQ(names, expected);
}

TEST_F(BenchCommand, RowsHaveTimesRatioAndBits) {
  const nlohmann::json rows = Rows({"--sizes=3e5,1000", "--ratios=0.1,0.001",
                                    "--names=topk,sidco_e+qsgdinf,none"});
  ASSERT_EQ(rows.size(), 12);
  const nlohmann::json& row = rows[3];
  EXPECT_EQ(row["name"], "topk");
  EXPECT_EQ(row["elements"], 300000);
  EXPECT_EQ(row["ratio"], 0.001);
  EXPECT_DOUBLE_EQ(row["achieved_ratio"], 0.001);
  EXPECT_GT(row["milliseconds"], 0);
  EXPECT_GT(row["bound_milliseconds"], 0);
  EXPECT_GT(row["topk_milliseconds"], row["bound_milliseconds"]);
  // The entropy of a position if one in 1000 is sent, plus 32 bits.
  EXPECT_NEAR(row["entropy_bits_per_sent_element"], 43.408, 0.001);
  EXPECT_GT(row["bits_per_sent_element"], row["entropy_bits_per_sent_element"]);
  // A quantized value is shorter.
  EXPECT_EQ(rows[4]["name"], "sidco_e+qsgdinf");
  EXPECT_LT(rows[4]["bits_per_sent_element"], 32);
  // A dense one has no position.
  EXPECT_EQ(rows[5]["name"], "none");
  EXPECT_EQ(rows[5]["achieved_ratio"], 1);
  EXPECT_EQ(rows[5]["entropy_bits_per_sent_element"], 32);
  EXPECT_EQ(rows[11]["elements"], 1000);
}

TEST_F(BenchCommand, NoRowBeatsItsEntropyAlsoWhereCountsDiffer) {
  for (const auto& row :
       Rows({"--sizes=100000", "--ratios=0.01",
             "--names=topk,redsync,gaussiank,sidco_e,threshold"})) {
    EXPECT_GT(row["bits_per_sent_element"],
              row["entropy_bits_per_sent_element"])
        << row;
  }
}

TEST_F(BenchCommand, ACodeThatMixesPositionsAndValuesHasNoEntropy) {
  const nlohmann::json rows =
      Rows({"--sizes=10000", "--ratios=0.01", "--names=adacomp"});
  ASSERT_EQ(rows.size(), 1);
  EXPECT_GT(rows[0]["bits_per_sent_element"], 0);
  EXPECT_TRUE(rows[0]["entropy_bits_per_sent_element"].is_null());
  EXPECT_THAT(output(), HasSubstr(" –"));
}

TEST_F(BenchCommand, WhatItCannotMeasureIsRefused) {
  const struct {
    std::string argument;
    std::string message;
  } cases[] = {
      {"--names=sidco_f", "no compressor \"sidco_f\"; did you mean \"sidco_"},
      {"--names=topk+qsdg", "value code \"qsdg\"; did you mean \"qsgd\"?"},
      {"--names=zzzzzzzzzz", "known are: "},
      {"--names=powersgd", "powersgd\"; needs the shapes of the tensors"},
      {"--sizes=0", "--sizes has \"0\"; must be whole numbers from 1"},
      {"--sizes=1.5", "--sizes has \"1.5\""},
      {"--sizes=", "--sizes has \"\""},
      {"--sizes=1,5e9", "--sizes has \"5e9\""},
      {"--ratios=0.1,2", "--ratios has \"2\"; must be numbers in (0, 1]"},
      {"--ratios=nan", "--ratios has \"nan\""},
      {"--ratio=0.1", "did you mean --ratios?"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Bench({c.argument}), 64) << c.argument;
    EXPECT_THAT(output(), HasSubstr(c.message));
  }
  EXPECT_EQ(Bench({"--rounds=0"}), 64);
  EXPECT_EQ(Gradsieve({"bench"}), 64);
  EXPECT_THAT(output(), HasSubstr("compressors"));
  EXPECT_EQ(Gradsieve({"bench", "compressor"}), 64);
  EXPECT_THAT(output(),
              HasSubstr("gradsieve bench: there is no command \"compressor\"; "
                        "did you mean \"compressors\"?"));
}

TEST_F(BenchCommand, AJsonFileThatCannotBeWrittenIsSaidBeforeMeasuring) {
  EXPECT_EQ(Bench({"--sizes=4e9", "--json=" + Path("no/bench.json")}), 1);
  EXPECT_THAT(output(), AllOf(HasSubstr("cannot create "),
                              HasSubstr(Path("no/bench.json"))));
  EXPECT_THAT(Names(""), IsEmpty());
}

TEST_F(BenchCommand, HelpSaysWhatIsMeasured) {
  EXPECT_EQ(Gradsieve({"bench", "--help"}), 0);
  EXPECT_THAT(output(), HasSubstr("gradsieve bench compressors"));
  EXPECT_EQ(Gradsieve({"bench", "compressors", "--help"}), 0);
  EXPECT_THAT(output(), AllOf(HasSubstr("--sizes"), HasSubstr("--json"),
                              HasSubstr("std::nth_element")));
}

}  // namespace
}  // namespace ps
