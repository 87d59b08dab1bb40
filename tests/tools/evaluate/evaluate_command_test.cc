// `gradsieve evaluate` as a process, after `gradsieve train`.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Kind {
  const char* name;
  const char* job;  // Model and data.
};

const Kind kKinds[] = {
    {"images", R"(
      model { name: "resnet20" }
      data { name: "shapes" shapes { train_examples: 64 test_examples: 61
                                     side: 16 } })"},
    {"words", R"(
      model { name: "lstm_lm" lstm_lm { layers: 1 hidden: 16 dropout: 0.2 } }
      data { name: "phrases" phrases { train_sentences: 200
                                       test_sentences: 70 } })"},
    {"characters", R"(
      model { name: "char_lstm" char_lstm { layers: 1 hidden: 16 } }
      data { name: "phrase_characters" phrases { train_sentences: 100
                                                 test_sentences: 20 } })"},
    {"speech", R"(
      model { name: "speech_lstm" speech_lstm { layers: 1 hidden: 16 } }
      data { name: "tones" tones { train_examples: 32 test_examples: 19 } })"},
};

class EvaluateCommand : public CommandTest {
 protected:
  void Train(const std::string& model_and_data) {
    std::ofstream(Path("job.textproto"))
        << model_and_data
        << "training { batch_size: 4 max_iterations: 3 }"
           "compressor { name: \"topk\" ratio: 0.1 }"
           "cluster { num_workers: 2 num_servers: 1 }"
           // As many for training as for evaluation: the bits of products
           // depend on it.
           "machine { worker_threads: 1 }";
    ASSERT_EQ(
        Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("run")}),
        0)
        << output();
  }

  Json ReadJson(const std::string& name) const {
    const auto text = ReadFile(Path(name));
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? ParseJson(*text) : Json();
  }
};

class EvaluateEveryKind : public EvaluateCommand,
                          public testing::WithParamInterface<Kind> {};

// The numbers in both files have all their digits.
TEST_P(EvaluateEveryKind, GivesTheBitsOfTheTrainingsOwnEvaluation) {
  Train(GetParam().job);
  ASSERT_EQ(Gradsieve({"evaluate", Path("run"), "--json=" + Path("json")}), 0)
      << output();
  const Json summary = ReadJson("run/summary.json");
  const Json evaluation = ReadJson("json");
  EXPECT_EQ(evaluation["metric"], summary["metric"]);
  int metrics = 0;
  for (const auto& [name, value] : summary.items()) {
    if (!absl::StartsWith(name, "test_")) continue;
    EXPECT_EQ(evaluation[name], value) << name;
    ++metrics;
  }
  EXPECT_GE(metrics, 2);
  // The job's file says the same.
  ASSERT_EQ(Gradsieve({"evaluate", Path("job.textproto"),
                       "--weights=" + Path("run/weights.safetensors"),
                       "--json=" + Path("json2")}),
            0)
      << output();
  EXPECT_EQ(ReadJson("json2")["test_loss"], summary["test_loss"]);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EvaluateEveryKind, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<Kind>& info) {
                           return info.param.name;
                         });

TEST_F(EvaluateCommand, CountsClassesOfEitherSet) {
  Train(R"(model { name: "mlp" mlp { hidden_units: 8 } }
           data { name: "digits" digits { train_examples: 80
                                          test_examples: 50 } })");
  ASSERT_EQ(Gradsieve({"evaluate", Path("run"), "--json=" + Path("test")}), 0)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("on the test set of digits, 50 examples"),
                    HasSubstr("top-5 accuracy"), HasSubstr("right")));
  ASSERT_EQ(Gradsieve({"evaluate", Path("run"), "--split=train",
                       "--json=" + Path("train")}),
            0)
      << output();
  for (const std::string split : {"test", "train"}) {
    const Json json = ReadJson(split);
    EXPECT_EQ(json["split"], split);
    int examples = 0, right = 0;
    for (int label = 0; label < 10; ++label) {
      for (int predicted = 0; predicted < 10; ++predicted) {
        const int count = json["confusion"][label][predicted];
        examples += count;
        right += label == predicted ? count : 0;
      }
    }
    EXPECT_EQ(examples, split == "test" ? 50 : 80);
    EXPECT_EQ(json["examples"], examples);
    EXPECT_EQ(json[split + "_accuracy"], static_cast<double>(right) / examples);
    EXPECT_EQ(json["classes"][9], "9");
  }
}

TEST_F(EvaluateCommand, FrozenLayersAreNoOtherMeaning) {
  const std::string model = R"(data { name: "digits" digits {
                                 train_examples: 80 test_examples: 50 } }
                               model { name: "mlp" mlp { hidden_units: 8 } )";
  Train(model + "}");
  std::filesystem::rename(Path("run"), Path("first"));
  Train(absl::StrCat(model, "initial_weights: '",
                     Path("first/weights.safetensors"),
                     "' } worker_optimizer { name: 'sgd' learning_rate: 0.1 "
                     "layer_rates { layers: 'layers.0.*' rate: 0 } }"));
  EXPECT_EQ(Gradsieve({"evaluate", Path("run")}), 0) << output();
}

TEST_F(EvaluateCommand, DataOfAnotherMeaningAreRefused) {
  std::filesystem::create_directory(Path("words"));
  const auto write = [this](const char* part, const char* line) {
    std::ofstream out(Path(absl::StrCat("words/ptb.", part, ".txt")));
    for (int i = 0; i < 30; ++i) out << line << "\n";
  };
  write("train", "a cow and a dog");
  write("valid", "a dog");
  Train(
      absl::StrCat("model { name: 'lstm_lm' lstm_lm { hidden: 8 } }"
                   "data { name: 'ptb' directory: '",
                   Path("words"), "' text { steps: 5 } }"));
  // The text for evaluation may be another one.
  write("valid", "a cow");
  ASSERT_EQ(Gradsieve({"evaluate", Path("run")}), 0) << output();
  // As many words, with other numbers.
  write("train", "a dog and a cow");
  EXPECT_EQ(Gradsieve({"evaluate", Path("run")}), 78);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("run/weights.safetensors was trained on data in "
                              "which numbers mean something else"),
                    HasSubstr("\"cow\" there and \"dog\" here")));
}

TEST_F(EvaluateCommand, WhatCannotBeEvaluatedIsNamed) {
  Train(R"(model { name: "mlp" mlp { hidden_units: 8 } }
           data { name: "digits" digits { train_examples: 80
                                          test_examples: 50 } })");
  EXPECT_EQ(Gradsieve({"evaluate", Path("job.textproto")}), 78);
  EXPECT_THAT(output(), HasSubstr("name a .safetensors file with --weights"));
  EXPECT_EQ(Gradsieve({"evaluate", Path("run"), "--split=validation"}), 64);
  EXPECT_THAT(output(), HasSubstr("--split is validation; must be test or "
                                  "train"));
  EXPECT_EQ(
      Gradsieve({"evaluate", Path("run"), "--set=model.mlp.hidden_units=9"}),
      78);
  EXPECT_THAT(output(), HasSubstr("layers.0.weight [8, 784] must have shape"));
  EXPECT_EQ(Gradsieve({"evaluate", Path("run"), "--weights=" + Path("none")}),
            78);
  EXPECT_THAT(output(), HasSubstr(Path("none")));
  EXPECT_EQ(Gradsieve({"evaluate", Path("run"), "--set=data.name=mnist",
                       "--data=" + Path("nowhere")}),
            78);
  EXPECT_THAT(output(), HasSubstr(Path("nowhere")));
}

}  // namespace
}  // namespace ps
