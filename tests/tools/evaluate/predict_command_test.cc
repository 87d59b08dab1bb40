// `gradsieve predict` as a process, after `gradsieve train` on photographs that
// the test writes.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/data/encode_image_for_test.h"
#include "tests/tools/command_runner.h"
#include "worker/records/run_recorder.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kJob[] = R"(
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "image_folder" directory: "%s"
         image_folder { side: 8 test_resize: 8 min_area: 0.9 } }
  training { batch_size: 4 epochs: 20 }
  optimizer { name: "sgd" learning_rate: 0.1 }
  cluster { num_workers: 1 num_servers: 1 }
)";

class PredictCommand : public CommandTest {
 protected:
  // Bright cats and dark dogs.
  PredictCommand() {
    for (int i = 0; i < 8; ++i) {
      WritePng(absl::StrCat("photos/train/cat, big/", i), 180 + 8 * i);
      WritePng(absl::StrCat("photos/train/dog/", i), 8 * i);
    }
    for (int i = 0; i < 3; ++i) {
      WritePng(absl::StrCat("photos/test/cat, big/", i), 190 + 8 * i);
      WritePng(absl::StrCat("photos/test/dog/", i), 10 + 8 * i);
    }
    std::string job = kJob;
    job.replace(job.find("%s"), 2, Path("photos"));
    std::ofstream(Path("job.textproto")) << job;
  }

  void WritePng(const std::string& name, int value) const {
    EncodeOptions options;
    options.width = 12;
    options.height = 10;
    const std::vector<uint8_t> pixels(3 * 12 * 10, static_cast<uint8_t>(value));
    const fs::path path = Path(name + ".png");
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(WriteFileAtomically(path, EncodePng(pixels, options)).ok());
  }

  void Train() {
    ASSERT_EQ(
        Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("run")}),
        0)
        << output();
  }

  std::vector<std::string> Lines() const {
    return absl::StrSplit(output(), '\n');
  }
};

// What a run was trained with is never taken for other data.
TEST_F(PredictCommand, ARunGoesOnWithItsOwnDataAlone) {
  ASSERT_EQ(Gradsieve({"train", Path("job.textproto"),
                       "--run-dir=" + Path("run"), "--set=checkpoint.every=7"}),
            0)
      << output();
  // As if everything had been killed before the end.
  ASSERT_TRUE(fs::remove(Path("run/summary.json")));
  const auto rename_class = [this](const std::string& from,
                                   const std::string& to) {
    for (const char* part : {"train/", "test/"}) {
      fs::rename(Path(absl::StrCat("photos/", part, from)),
                 Path(absl::StrCat("photos/", part, to)));
    }
  };
  rename_class("cat, big", "zcat");
  EXPECT_EQ(Gradsieve({"train", "--resume", Path("run")}), 78);
  EXPECT_THAT(output(), HasSubstr("snapshot 77 of worker-0 was made with other "
                                  "data (there: the snapshot, here: "
                                  "data.directory): class 0: \"cat, big\" "
                                  "there and \"dog\" here; class 1: \"dog\" "
                                  "there and \"zcat\" here"));
  EXPECT_EQ(*ReadFile(Path("run/classes.txt")), "cat, big\ndog\n");
  rename_class("zcat", "cat, big");
  WritePng("photos/train/dog/more", 3);
  EXPECT_EQ(Gradsieve({"train", "--resume", Path("run")}), 78);
  EXPECT_THAT(output(), HasSubstr("training examples: 16 there and 17 here"));
  fs::remove(Path("photos/train/dog/more.png"));
  EXPECT_EQ(Gradsieve({"train", "--resume", Path("run")}), 0) << output();
}

// A worker that is started by hand may name any directory.
TEST_F(PredictCommand, ClassNamesOfARunAreNotOverwritten) {
  ASSERT_TRUE(fs::create_directories(Path("run")));
  std::ofstream(Path("run/classes.txt")) << "cat, big\ncow\n";
  RunHeader header;
  header.class_names = {"cat, big", "dog"};
  header.iterations_per_epoch = 1;
  const absl::Status refused =
      RunRecorder::Create(Path("run"), header, 0).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("class 1 is \"cow\" in " + Path("run/classes.txt") +
                        ", and \"dog\" in the data"));
  header.class_names = {};
  EXPECT_FALSE(RunRecorder::Create(Path("run"), header, 0).ok());
  header.class_names = {"cat, big", "cow"};
  EXPECT_TRUE(RunRecorder::Create(Path("run"), header, 0).ok());
  EXPECT_EQ(*ReadFile(Path("run/classes.txt")), "cat, big\ncow\n");
}

TEST_F(PredictCommand, ACheckSaysWhatIsNotReadAndCanReadEverything) {
  std::ofstream(Path("photos/train/dog/a.gif")) << "GIF89a";
  EXPECT_EQ(Gradsieve({"train", Path("job.textproto"), "--check=all"}), 0)
      << output();
  EXPECT_THAT(output(), HasSubstr("\nnote: 1 file is not read: " +
                                  Path("photos/train/dog/a.gif") +
                                  "; images are .jpg, .jpeg and .png files"));
  for (const char* name : {"train/dog/5", "test/dog/0"}) {
    const std::string path = Path(absl::StrCat("photos/", name, ".png"));
    const std::string whole = *ReadFile(path);
    ASSERT_TRUE(WriteFileAtomically(path, whole.substr(0, 60)).ok());
  }
  EXPECT_EQ(Gradsieve({"train", Path("job.textproto"), "--check"}), 0);
  EXPECT_EQ(Gradsieve({"train", Path("job.textproto"), "--check=all",
                       "--set=data.on_bad_example=SKIP"}),
            78)
      << output();
  EXPECT_EQ(Gradsieve({"train", Path("job.textproto"), "--check=all"}), 78);
  EXPECT_THAT(output(), HasSubstr("2 examples of 22 cannot be read:\n  " +
                                  Path("photos/train/dog/5.png: ")));
  EXPECT_THAT(output(), HasSubstr(Path("photos/test/dog/0.png: ")));
  EXPECT_EQ(Gradsieve({"train", Path("job.textproto"), "--check=some"}), 64);
}

TEST_F(PredictCommand, ARunCanBeUsedFromAnyFolder) {
  const fs::path here = fs::current_path();
  fs::current_path(Path(""));
  const int trained = Gradsieve({"train", "job.textproto", "--run-dir=run",
                                 "--set=data.directory=photos"});
  const int more =
      Gradsieve({"train", "job.textproto", "--run-dir=more",
                 "--set=data.directory=photos",
                 "--set=model.initial_weights=run/weights.safetensors"});
  fs::current_path(here);
  ASSERT_EQ(trained, 0) << output();
  ASSERT_EQ(more, 0) << output();
  EXPECT_EQ(Gradsieve({"evaluate", Path("run")}), 0) << output();
  EXPECT_THAT(ReadFile(Path("more/job.textproto")).value_or(""),
              HasSubstr("initial_weights: \"/"));
}

TEST_F(PredictCommand, NamesWhatItSeesWithoutTheTrainingData) {
  Train();
  EXPECT_EQ(*ReadFile(Path("run/classes.txt")), "cat, big\ndog\n");
  ASSERT_EQ(Gradsieve({"predict", Path("run"), "--top=1"}), 0) << output();
  const std::vector<std::string> of_set = Lines();
  ASSERT_EQ(of_set.size(), 1 + 6 + 1u) << output();
  EXPECT_EQ(of_set[0], "file,label,class,probability");
  EXPECT_THAT(of_set[1],
              StartsWith(Path("photos/test/cat, big/0.png").insert(0, "\"") +
                         "\",\"cat, big\",\"cat, big\","));
  EXPECT_THAT(of_set[6],
              StartsWith(Path("photos/test/dog/2.png") + ",dog,dog,"));

  WritePng("inputs/deep/bright", 200);
  WritePng("dark", 10);
  std::ofstream(Path("inputs/notes.txt")) << "no image";
  fs::remove_all(Path("photos"));
  ASSERT_EQ(Gradsieve({"predict", Path("run"), Path("dark.png"), Path("inputs"),
                       "--format=json"}),
            0)
      << output();
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 3u) << output();
  const Json dark = ParseJson(lines[0]);
  const Json bright = ParseJson(lines[1]);
  EXPECT_EQ(dark["file"], Path("dark.png"));
  EXPECT_EQ(dark["class"], "dog");
  EXPECT_EQ(bright["file"], Path("inputs/deep/bright.png"));
  EXPECT_EQ(bright["class"], "cat, big");
  EXPECT_FALSE(bright.contains("label"));
  // --top is 5, but there are two.
  ASSERT_EQ(bright["top"].size(), 2u);
  EXPECT_EQ(bright["top"][0]["probability"], bright["probability"]);
  EXPECT_NEAR(bright["top"][0]["probability"].get<double>() +
                  bright["top"][1]["probability"].get<double>(),
              1, 1e-12);

  // The weights alone, with other words for the classes.
  fs::rename(Path("run/weights.safetensors"), Path("w.safetensors"));
  std::ofstream(Path("names")) << "Katze\r\nHund\r\n";
  ASSERT_EQ(Gradsieve({"predict", Path("job.textproto"), Path("dark.png"),
                       "--weights=" + Path("w.safetensors"),
                       "--classes=" + Path("names")}),
            0)
      << output();
  EXPECT_THAT(Lines()[0], "file,class,probability,class_2,probability_2");
  EXPECT_THAT(Lines()[1], HasSubstr("dark.png,Hund,"));
  EXPECT_EQ(Gradsieve({"predict", Path("job.textproto"), Path("dark.png"),
                       "--weights=" + Path("w.safetensors")}),
            78);
  EXPECT_THAT(output(), HasSubstr("there is no classes.txt beside the weights, "
                                  "and no --classes"));
}

TEST_F(PredictCommand, OtherClassesThanThoseOfTheTrainingAreRefused) {
  Train();
  for (const char* part : {"train", "test"}) {
    fs::rename(Path(absl::StrCat("photos/", part, "/dog")),
               Path(absl::StrCat("photos/", part, "/wolf")));
  }
  for (const char* command : {"evaluate", "predict"}) {
    EXPECT_EQ(Gradsieve({command, Path("run")}), 78);
    EXPECT_THAT(output(), HasSubstr("class 1 is \"dog\" in "));
    EXPECT_THAT(output(), HasSubstr("and \"wolf\" in the data"));
  }
  std::ofstream(Path("names")) << "a\nb\nc\n";
  EXPECT_EQ(Gradsieve({"evaluate", Path("run"), "--classes=" + Path("names")}),
            78);
  EXPECT_THAT(output(), HasSubstr("names 3 classes; must name one for each of "
                                  "the 2"));
  std::ofstream(Path("names")) << "a\n\n";
  EXPECT_EQ(Gradsieve({"evaluate", Path("run"), "--classes=" + Path("names")}),
            78);
  EXPECT_THAT(output(), HasSubstr("names:2: the line is empty"));
  std::ofstream(Path("names")) << "Katze\nWolf\n";
  EXPECT_EQ(Gradsieve({"evaluate", Path("run"), "--classes=" + Path("names")}),
            0);
  EXPECT_THAT(output(), HasSubstr("Katze"));
}

// The scale of pixels is that of the training images.
TEST_F(PredictCommand, OtherSetsOfImagesTakeFilesToo) {
  std::ofstream(Path("job.textproto")) << R"(
      model { name: "mlp" mlp { hidden_units: 8 } }
      data { name: "digits" digits { train_examples: 80 test_examples: 50 } }
      training { batch_size: 4 max_iterations: 3 }
      cluster { num_workers: 1 num_servers: 1 })";
  Train();
  ASSERT_EQ(Gradsieve({"predict", Path("run"), "--top=3",
                       Path("photos/test/dog/1.png")}),
            0)
      << output();
  EXPECT_THAT(Lines()[1], StartsWith(Path("photos/test/dog/1.png,")));
}

TEST_F(PredictCommand, WhatCannotBePredictedIsNamed) {
  Train();
  std::ofstream(Path("text.png")) << "no image at all";
  fs::create_directories(Path("empty"));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{Path("text.png")}, Path("text.png") + ": is neither JPEG nor PNG"},
      {{Path("none.png")}, "cannot open " + Path("none.png")},
      {{Path("empty")}, "has no .jpg, .jpeg or .png file"},
      {{"--set=model.name=lstm_lm", "--set=data.name=phrases"},
       "predictions are for examples with a class"},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> command = {"predict", Path("run")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(Gradsieve(command), 78) << message;
    EXPECT_THAT(output(), HasSubstr(message));
  }
  EXPECT_EQ(Gradsieve({"predict", Path("run"), "--top=0"}), 64);
  EXPECT_THAT(output(), HasSubstr("--top is 0; must be at least 1"));
  EXPECT_EQ(Gradsieve({"predict", Path("run"), "--format=xml"}), 64);
  EXPECT_THAT(output(), HasSubstr("must be csv or json"));
}

}  // namespace
}  // namespace ps
