// `gradsieve influence` as a process, after `gradsieve train`.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/file.h"
#include "common/json.h"
#include "common/random.h"
#include "common/schedule.h"
#include "data/dataset.h"
#include "formats/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"
#include "tools/evaluate/evaluated_job.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Floats = std::vector<float>;

constexpr absl::Duration kBound = absl::Seconds(120);

constexpr char kDigits[] = R"(
    model { name: "mlp" mlp { hidden_units: 12 } }
    data { name: "digits" digits { train_examples: 240 test_examples: 40 } })";

class InfluenceCommand : public CommandTest {
 protected:
  // Snapshots after 10, 20, ... 60 pushes.
  void Train(const std::string& model_and_data, const std::string& more = "") {
    std::ofstream(Path("job.textproto")) << model_and_data << more << R"(
            training { batch_size: 8 max_iterations: 65 epochs: 20 }
            optimizer { name: "momentum" learning_rate: 0.05 }
            schedule { name: "cosine" }
            compressor { name: "none" }
            cluster { num_workers: 2 num_servers: 1 }
            checkpoint { every: 10 keep_last: 100 })";
    ASSERT_EQ(
        Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("run")}),
        0)
        << output();
  }

  int Influence(std::vector<std::string> options) {
    options.insert(options.begin(), {"influence", Path("run")});
    return Gradsieve(options);
  }

  std::string Contents(const std::string& name) const {
    const auto text = ReadFile(Path(name));
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
  }
};

// The gradients of examples' losses at a snapshot, by a backward pass for each.
std::vector<Floats> GradientsAt(const JobConfig& config,
                                const std::string& weights, const Dataset& set,
                                const std::vector<int64_t>& numbers) {
  EvaluatedJob job;
  job.config = config;
  job.weights = weights;
  const auto loaded = LoadEvaluatedModel(job, set.example_shape(), "");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  auto gradient = loaded->backend->Allocate({loaded->model->num_parameters()});
  std::vector<Floats> gradients;
  Batch batch;
  for (const int64_t number : numbers) {
    EXPECT_TRUE(set.Read({number}, /*epoch=*/0, &batch).ok());
    EXPECT_TRUE(
        loaded->model
            ->ForwardBackward(batch, loaded->weights, &*gradient, nullptr)
            .ok());
    Floats& values = gradients.emplace_back(gradient->size());
    EXPECT_TRUE(loaded->backend->CopyToHost(*gradient, values.data()).ok());
  }
  return gradients;
}

double Dot(const Floats& a, const Floats& b, size_t begin) {
  double sum = 0;
  for (size_t i = begin; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

// With lists that have every example. The rates are those of the schedule.
TEST_F(InfluenceCommand, EqualsBruteForce) {
  Train(kDigits);
  const auto config = LoadJob(Path("run/job.textproto"), {});
  ASSERT_TRUE(config.ok()) << config.status();
  DatasetOptions options;
  options.config = config->data();
  options.seed = config->seed();
  const auto data = NewDataset(options);
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<int64_t> all(240);
  for (int64_t i = 0; i < 240; ++i) all[i] = i;
  constexpr int64_t kQuery = 7;

  // [layers: last, all][example].
  std::vector<std::vector<double>> influence(2, std::vector<double>(240));
  std::vector<std::vector<double>> self = influence;
  for (const int64_t push : {10, 30, 60}) {
    const std::string weights =
        absl::StrCat(Path("run/checkpoints/worker-0/snapshot-"), push,
                     "/weights.safetensors");
    const double rate = ServersLearningRate(*config, 65, push);
    const std::vector<Floats> examples =
        GradientsAt(*config, weights, *data->train, all);
    const Floats query =
        GradientsAt(*config, weights, *data->test, {kQuery})[0];
    // The last layer has 12 inputs and 10 outputs.
    const size_t begins[] = {query.size() - 13 * 10, 0};
    for (int layers = 0; layers < 2; ++layers) {
      for (int64_t i = 0; i < 240; ++i) {
        influence[layers][i] += rate * Dot(examples[i], query, begins[layers]);
        self[layers][i] += rate * Dot(examples[i], examples[i], begins[layers]);
      }
    }
  }
  for (int layers = 0; layers < 2; ++layers) {
    ASSERT_EQ(Influence({absl::StrCat("--query=", kQuery), "--self",
                         "--checkpoints=10,30,60", "--top=240",
                         layers == 0 ? "--layers=last" : "--layers=all",
                         "--json=" + Path("json")}),
              0)
        << output();
    const Json json = ParseJson(Contents("json"));
    double largest = 0;
    for (const double each : influence[layers]) {
      largest = std::max(largest, std::abs(each));
    }
    std::map<int64_t, double> listed;
    for (const char* list : {"proponents", "opponents"}) {
      double before = INFINITY;
      for (const Json& each : json["queries"][0][list]) {
        const double score = each["influence"];
        EXPECT_EQ(score > 0, list == std::string("proponents"));
        EXPECT_LE(std::abs(score), before);
        before = std::abs(score);
        listed[each["example"]] = score;
      }
    }
    EXPECT_EQ(listed.size(), 240u);
    for (const auto& [example, score] : listed) {
      EXPECT_NEAR(score, influence[layers][example], 1e-5 * largest) << example;
    }
    EXPECT_EQ(json["self"].size(), 240u);
    double before = INFINITY;
    for (const Json& each : json["self"]) {
      const double expected = self[layers][int64_t{each["example"]}];
      EXPECT_NEAR(double{each["self_influence"]}, expected,
                  1e-5 * expected + 1e-12);
      EXPECT_LE(double{each["self_influence"]}, before);
      before = each["self_influence"];
    }
  }
}

TEST_F(InfluenceCommand, TrainingExampleAsAQueryScoresItsSelfInfluence) {
  Train(kDigits);
  ASSERT_EQ(Influence({"--query=11", "--query-split=train", "--self",
                       "--top=240", "--json=" + Path("json")}),
            0)
      << output();
  const Json json = ParseJson(Contents("json"));
  double as_query = 0, as_self = -1;
  for (const Json& each : json["queries"][0]["proponents"]) {
    if (each["example"] == 11) as_query = each["influence"];
  }
  for (const Json& each : json["self"]) {
    if (each["example"] == 11) as_self = each["self_influence"];
  }
  EXPECT_NEAR(as_query / as_self, 1, 1e-5);
  EXPECT_EQ(json["queries"][0]["split"], "train");
}

// 1, 2 and 4 processes, and 2 of which one is killed.
TEST_F(InfluenceCommand, ResultsDoNotDependOnWhoComputedThem) {
  Train(kDigits);
  const std::vector<std::string> options = {
      "--query=1", "--query=2", "--self", "--layers=all", "--checkpoints=all"};
  std::vector<std::string> results;
  for (const char* processes : {"1", "2", "4"}) {
    std::vector<std::string> with = options;
    with.push_back(absl::StrCat("--processes=", processes));
    with.push_back("--json=" + Path("json"));
    with.push_back("--page=" + Path("page.html"));
    ASSERT_EQ(Influence(with), 0) << output();
    results.push_back(Contents("json") + Contents("page.html") + output());
  }
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);

  fs::create_directory(Path("temporary"));
  std::vector<std::string> command = {"/usr/bin/env",
                                      "TMPDIR=" + Path("temporary"),
                                      ProgramPath("tools/gradsieve"),
                                      "influence",
                                      Path("run"),
                                      "--processes=2",
                                      "--json=" + Path("json"),
                                      "--page=" + Path("page.html")};
  command.insert(command.end(), options.begin(), options.end());
  TestProcess process(command, Path("output"));
  std::vector<pid_t> children;
  ASSERT_TRUE(WaitFor(kBound, [&] {
    children = ProcessesWith(Path("temporary") + "/");
    return !children.empty();
  })) << process.Output();
  kill(children[0], SIGKILL);
  EXPECT_EQ(process.WaitForExit(kBound), 0) << process.Output();
  const std::string printed = process.Output();
  EXPECT_THAT(printed, HasSubstr("was killed by signal 9 (Killed), perhaps"));
  EXPECT_THAT(printed, HasSubstr("; its unit of work is done again"));
  const std::string without_warning = printed.substr(printed.find(Path("run")));
  EXPECT_EQ(Contents("json") + Contents("page.html") + without_warning,
            results[0]);
  // Nothing is left behind.
  EXPECT_TRUE(fs::is_empty(Path("temporary")));
}

// Images of generated digits as files in MNIST's format; some training labels
// are changed at random. Returns the numbers of these.
std::vector<int64_t> WriteMislabelled(const std::string& folder) {
  DatasetOptions options;
  options.config.set_name("digits");
  options.config.mutable_digits()->set_train_examples(300);
  options.config.mutable_digits()->set_test_examples(20);
  const auto data = NewDataset(options);
  EXPECT_TRUE(data.ok()) << data.status();
  fs::create_directories(folder);
  std::vector<int64_t> changed;
  for (const bool train : {true, false}) {
    const Dataset& set = train ? *data->train : *data->test;
    const std::string prefix = absl::StrCat(folder, train ? "/train" : "/t10k");
    const char high = static_cast<char>(set.size() >> 8);
    const char low = static_cast<char>(set.size());
    std::string images = {0, 0, 8, 3,  0, 0, high, low,
                          0, 0, 0, 28, 0, 0, 0,    28};
    std::string labels = {0, 0, 8, 1, 0, 0, high, low};
    Batch batch;
    for (int64_t i = 0; i < set.size(); ++i) {
      EXPECT_TRUE(set.Read({i}, 0, &batch).ok());
      for (const float value : batch.inputs) {
        images.push_back(static_cast<char>(
            std::lround(std::min(255.0, std::max(0.0, 60 + 60.0 * value)))));
      }
      int label = batch.labels[0];
      RandomStream random(RandomKey(1, static_cast<uint64_t>(i)));
      if (train && random.Uniform() < 0.1) {
        label = static_cast<int>((label + 1 + random.Below(9)) % 10);
        changed.push_back(i);
      }
      labels.push_back(static_cast<char>(label));
    }
    std::ofstream(prefix + "-images-idx3-ubyte") << images;
    std::ofstream(prefix + "-labels-idx1-ubyte") << labels;
  }
  return changed;
}

TEST_F(InfluenceCommand, SelfInfluenceFindsMislabelledExamples) {
  const std::vector<int64_t> changed = WriteMislabelled(Path("data"));
  EXPECT_GT(changed.size(), 20u);
  std::ofstream wrong(Path("wrong.txt"));
  for (const int64_t number : changed) wrong << number << "\n";
  wrong.close();
  Train(absl::StrCat(R"(
      model { name: "mlp" mlp { hidden_units: 32 } }
      data { name: "mnist" directory: ")",
                     Path("data"), "\" }"));
  ASSERT_EQ(
      Influence({"--self", "--mislabelled=" + Path("wrong.txt"),
                 "--json=" + Path("json"), "--page=" + Path("page.html")}),
      0)
      << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("self-influence"),
                              HasSubstr("loss at the last snapshot"),
                              HasSubstr("loss, sum of all snapshots"),
                              HasSubstr("random order, on average")));
  const Json found = ParseJson(Contents("json"))["mislabelled"];
  EXPECT_EQ(found["examples"], changed.size());
  EXPECT_EQ(found["rankings"].size(), 3u);
  const Json& self = found["rankings"]["self_influence"];
  EXPECT_GE(double{self["recall"]["0.2"]}, 0.5);
  EXPECT_GT(double{self["area"]}, 0.75);
  EXPECT_LE(double{self["area"]}, double{found["best_area"]});
  EXPECT_THAT(Contents("page.html"),
              AllOf(HasSubstr("known to be mislabelled"),
                    HasSubstr("Mislabelled examples found")));
}

TEST_F(InfluenceCommand, PageHasAPictureOfEveryExample) {
  Train(kDigits);
  ASSERT_EQ(Influence({"--query=3", "--self", "--top=4",
                       "--page=" + Path("page.html")}),
            0)
      << output();
  const std::string page = Contents("page.html");
  int pictures = 0;
  // "iVBORw0KGgo" is PNG's beginning in base 64.
  for (size_t at = 0; (at = page.find("data:image/png;base64,iVBORw0KGgo",
                                      at)) != std::string::npos;
       ++at) {
    ++pictures;
  }
  // The query, 4 proponents, 4 opponents, and 4 of the training set.
  EXPECT_EQ(pictures, 13);
  EXPECT_THAT(page, AllOf(HasSubstr("Test example 3"),
                          HasSubstr("Proponents lowered this loss"),
                          Not(HasSubstr("<script")), Not(HasSubstr("http:")),
                          Not(HasSubstr("https:")), Not(HasSubstr("@import"))));
}

// A last layer of 12 + 1 inputs and 10 outputs fits into 130 numbers.
TEST_F(InfluenceCommand, SketchesHaveInfluenceAsTheirInnerProducts) {
  Train(kDigits);
  ASSERT_EQ(Influence({"--query=3", "--query=9", "--top=240",
                       "--checkpoints=10,30,60", "--sketch-size=130",
                       "--sketches=" + Path("sketches.npy"),
                       "--json=" + Path("json")}),
            0)
      << output();
  const auto file = ReadNpy<float>(Path("sketches.npy"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->shape, (std::vector<int64_t>{242, 390}));
  const auto row = [&](int64_t i) {
    return Floats(file->elements.begin() + i * 390,
                  file->elements.begin() + (i + 1) * 390);
  };
  const Json json = ParseJson(Contents("json"));
  for (int q = 0; q < 2; ++q) {
    const Json& listed = json["queries"][q]["proponents"];
    EXPECT_GT(listed.size(), 5u);
    for (const Json& each : listed) {
      EXPECT_NEAR(double{each["influence"]},
                  Dot(row(each["example"]), row(240 + q), 0),
                  1e-5 * double{listed[0]["influence"]});
    }
  }
  ASSERT_EQ(Influence({"--sketches=" + Path("small.npy"), "--sketch-size=20",
                       "--checkpoints=all"}),
            0)
      << output();
  EXPECT_EQ(ReadNpy<float>(Path("small.npy"))->shape,
            (std::vector<int64_t>{240, 4 * 4 * 6}));
}

TEST_F(InfluenceCommand, QueriesAreNumbersListsAndImages) {
  Train(kDigits);
  std::ofstream(Path("numbers.txt")) << "5\n39\n";
  ASSERT_EQ(
      Influence({"--query=1", "--query=" + Path("numbers.txt"), "--top=1",
                 "--json=" + Path("json"), "--page=" + Path("page.html")}),
      0)
      << output();
  const Json json = ParseJson(Contents("json"));
  ASSERT_EQ(json["queries"].size(), 3u);
  EXPECT_EQ(json["queries"][1]["query"], "5");
  EXPECT_EQ(json["queries"][2]["query"], "39");
  EXPECT_FALSE(json.contains("self"));
  // A picture of the page is a picture for the command.
  const std::string page = Contents("page.html");
  const size_t begin = page.find("base64,") + 7;
  std::string image;
  ASSERT_TRUE(absl::Base64Unescape(
      page.substr(begin, page.find('\'', begin) - begin), &image));
  std::ofstream(Path("digit.png")) << image;
  EXPECT_EQ(Influence({"--query=" + Path("digit.png")}), 78);
  EXPECT_THAT(output(), HasSubstr("--label must be one of 0, 1, 2"));
  ASSERT_EQ(Influence({"--query=" + Path("digit.png"), "--label=4", "--top=1",
                       "--json=" + Path("json")}),
            0)
      << output();
  EXPECT_EQ(ParseJson(Contents("json"))["queries"][0]["label"], "4");
}

TEST_F(InfluenceCommand, WhatCannotBeDoneIsNamed) {
  Train(kDigits);
  const struct {
    std::vector<std::string> options;
    int exit_code;
    std::string message;
  } cases[] = {
      {{}, 64, "give --query, --self or --sketches"},
      {{"--self", "--layers="}, 64, "must be last, all, or names"},
      {{"--self", "--layers=hidden"}, 78, "--layers names hidden, and the"},
      {{"--self", "--layers=all", "--no-bias"}, 64, "--no-bias is for"},
      {{"--layers=all", "--sketches=x"}, 64, "--sketches is for"},
      {{"--self", "--sketch-size=0"}, 64, "--sketch-size is 0"},
      {{"--query=1", "--query-split=validation"}, 64, "must be test or train"},
      {{"--query=1", "--mislabelled=x"}, 64, "give both"},
      {{"--self", "--top=0"}, 64, "--top is 0; must be at least 1"},
      {{"--self", "--processes=-1"}, 64, "must be in [0, 1024]"},
      {{"--query=40"}, 78, "numbered from 0 to 39"},
      {{"--query=" + Path("none.txt")}, 78, "none.txt"},
      {{"--query=" + Path("empty.txt")}, 78, "empty.txt names no example"},
      {{"--query=" + Path("wrong.txt")},
       78,
       "wrong.txt: there is no example "
       "\"240\" in the test set"},
      {{"--self", "--checkpoints=15"},
       78,
       "no snapshot after 15 pushes; it "
       "has 10, 20"},
      {{"--self", "--snapshots=" + Path("nowhere")},
       78,
       "there is no snapshot in"},
      {{"--self", "--mislabelled=" + Path("wrong.txt")},
       78,
       "\"240\" is not the number of a training example, 0 to 239"},
      {{"--self", "--set=data.digits.train_examples=241"},
       78,
       "the training set has 241 examples; that of"},
  };
  std::ofstream(Path("wrong.txt")) << "3\n240\n";
  std::ofstream(Path("empty.txt")) << "\n";
  for (const auto& a_case : cases) {
    EXPECT_EQ(Influence(a_case.options), a_case.exit_code) << a_case.message;
    EXPECT_THAT(output(), HasSubstr(a_case.message));
  }
  EXPECT_EQ(Gradsieve({"influence", Path("job.textproto"), "--self"}), 78);
  EXPECT_THAT(output(), HasSubstr("is not a run directory"));
}

TEST_F(InfluenceCommand, RunThatHasKeptTooFewSnapshotsSaysWhichFieldKeepsMore) {
  Train(kDigits);
  for (const char* number : {"10", "20", "30", "40", "50"}) {
    fs::remove_all(
        Path(absl::StrCat("run/checkpoints/worker-0/snapshot-", number)));
  }
  EXPECT_EQ(Influence({"--self"}), 78);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("has kept only that after 60 pushes"),
                    HasSubstr("checkpoint { every: N keep_last: M }")));
  EXPECT_EQ(Influence({"--self", "--checkpoints=60"}), 0) << output();
}

TEST_F(InfluenceCommand, TextAndDriftingWorkersAreRefused) {
  Train(R"(model { name: "char_lstm" char_lstm { layers: 1 hidden: 8 } }
           data { name: "phrase_characters"
                  phrases { train_sentences: 100 test_sentences: 20 } })");
  EXPECT_EQ(Influence({"--self"}), 78);
  EXPECT_THAT(output(), HasSubstr("influence is for models of images; "
                                  "data.name is \"phrase_characters\""));
  fs::remove_all(Path("run"));
  Train(kDigits, "consistency { mode: ASYNCHRONOUS }");
  EXPECT_EQ(Influence({"--self"}), 78);
  EXPECT_THAT(output(), HasSubstr("consistency.mode ASYNCHRONOUS"));
}

}  // namespace
}  // namespace ps
