// The pages that lead through a task: their commands run, one after the other,
// and the messages that they quote are the programs' own.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/data/encode_image_for_test.h"
#include "tests/documents/built_clone.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Page(const std::string& name) {
  const auto text = ReadFile(ProgramPath("docs/" + name));
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

// The part of a page below "## heading".
std::string Section(const std::string& page, const std::string& heading) {
  const std::string begin = absl::StrCat("\n## ", heading, "\n");
  const std::string text = Page(page);
  const size_t found = text.find(begin);
  EXPECT_NE(found, std::string::npos) << heading;
  if (found == std::string::npos) return "";
  return text.substr(found, text.find("\n## ", found + 1) - found);
}

// Consecutive lines that are indented by four spaces, without these.
std::vector<std::string> Blocks(const std::string& text) {
  std::vector<std::string> blocks;
  std::string block;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "    ")) {
      absl::StrAppend(&block, line, "\n");
    } else if (!block.empty()) {
      blocks.push_back(std::move(block));
      block.clear();
    }
  }
  return blocks;
}

// Of the shell, for the built clone in which a page is read. Other commands
// need a network, or files of the reader's.
bool IsCommand(const std::string& block) {
  for (const char* start :
       {"gradsieve ", "cat > ", "export ", "for ", "mkdir ", "python3 "}) {
    if (absl::StartsWith(block, start)) return true;
  }
  return false;
}

class TaskPages : public BuiltClone {
 protected:
  // Runs all commands of `text`, and returns what they print.
  std::string RunCommands(const std::string& text, int expected_blocks) {
    std::string all;
    int run = 0;
    for (const std::string& block : Blocks(text)) {
      if (!IsCommand(block)) continue;
      ++run;
      std::string output;
      EXPECT_EQ(Run(block, &output), 0) << block << "\n" << output;
      all += output;
    }
    EXPECT_EQ(run, expected_blocks);
    return all;
  }

  void Write(const std::string& name, const std::string& bytes) {
    const fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
};

TEST_F(TaskPages, PytorchScriptsTrain) {
  fs::create_directories(directory_ / "examples");
  fs::create_symlink(ProgramPath("examples/torch"),
                     directory_ / "examples/torch");
  fs::create_symlink(ProgramPath("python"), directory_ / "python");
  // Of an environment, whose own program must be started by its own path.
  if (const char* const python = std::getenv("GRADSIEVE_PYTHON")) {
    Write("bin/python3", absl::StrCat("#!/bin/sh\nexec ", python, " \"$@\"\n"));
    fs::permissions(directory_ / "bin/python3", fs::perms::owner_all);
  }
  std::string output;
  ASSERT_EQ(Run("python3 -c 'import torch'", &output), 0)
      << output << "Debian: python3-torch";
  EXPECT_THAT(RunCommands(Section("pytorch.md", "Five lines"), 1),
              HasSubstr("[worker-0] epoch 1 accuracy "));
  EXPECT_TRUE(fs::exists(directory_ / "mnist.pt"));
}

TEST(PytorchDocument, ShowsTheDiffOfAnExample) {
  const std::string diff =
      ReadFile(ProgramPath("examples/torch/mnist.diff")).value_or("");
  EXPECT_GT(diff.size(), 100u);
  std::string block;
  for (const absl::string_view line :
       absl::StrSplit(absl::StripSuffix(diff, "\n"), '\n')) {
    absl::StrAppend(
        &block, absl::StripTrailingAsciiWhitespace(absl::StrCat("    ", line)),
        "\n");
  }
  EXPECT_THAT(Page("pytorch.md"), HasSubstr(block));
}

TEST_F(TaskPages, AScriptsJobTrainsAndGoesToOnnxAndBack) {
  const std::string output =
      RunCommands(Section("pytorch.md", "Without your script"), 3);
  EXPECT_THAT(output, AllOf(HasSubstr("is a valid job: lenet5"),
                            HasSubstr("test accuracy"),
                            HasSubstr("The network takes images [1, 28, 28] "
                                      "and gives 10 outputs. It has 12 layers"),
                            HasSubstr("Put the block of net/model.textproto "
                                      "into a job")));
  EXPECT_TRUE(fs::exists(directory_ / "lenet.onnx"));
  EXPECT_TRUE(fs::exists(directory_ / "net/weights.safetensors"));
}

TEST_F(TaskPages, PhotographsAreSplitTrainedAndPredicted) {
  EncodeOptions options;
  options.width = 24;
  options.height = 16;
  for (int i = 0; i < 20; ++i) {
    for (const bool dog : {false, true}) {
      const std::vector<uint8_t> pixels(3 * 24 * 16, dog ? 200 - i : 50 + i);
      Write(absl::StrCat("pictures/", dog ? "dog/" : "cat/", i,
                         i % 2 == 0 ? ".png" : ".jpg"),
            i % 2 == 0 ? EncodePng(pixels, options)
                       : EncodeJpeg(pixels, options));
    }
  }
  Write("holiday/beach.png",
        EncodePng(std::vector<uint8_t>(3 * 24 * 16, 99), options));
  const std::string output =
      RunCommands(Section("own_data.md", "Photographs"), 2);
  EXPECT_THAT(output, AllOf(HasSubstr("36 training examples, 4 test examples"),
                            HasSubstr("holiday/beach.png,")));
  EXPECT_EQ(ReadFile(directory_ / "runs/photos/classes.txt").value_or(""),
            "cat\ndog\n");
}

TEST_F(TaskPages, ArraysBecomeImages) {
  std::string output;
  const std::string make = R"(mkdir arrays
python3 - <<'END'
import numpy
for part, count in [("train", 64), ("test", 16)]:
    labels = numpy.arange(count) % 4
    images = numpy.zeros([count, 32, 32]) + 60 * labels[:, None, None]
    numpy.save(f"arrays/{part}_images.npy", images)
    numpy.save(f"arrays/{part}_labels.npy", labels)
END
)";
  ASSERT_EQ(Run(make, &output), 0) << output;
  EXPECT_THAT(RunCommands(Section("own_data.md", "Arrays in `.npy`"), 3),
              HasSubstr("64 training examples, 16 test examples"));
}

TEST_F(TaskPages, TextIsReadAsWordsAndAsCharacters) {
  std::string book;
  for (int i = 0; i < 600; ++i) {
    absl::StrAppend(&book, "the cow of farmer ", i % 7,
                    " feeds behind the barn\n");
  }
  absl::StrAppend(&book, "one word is new\n");
  Write("book.txt", book);
  std::string words = Section("own_data.md", "Text");
  // The new word is an error until it is <unk>, with which the block ends.
  std::string output;
  const std::vector<std::string> blocks = Blocks(words);
  ASSERT_GE(blocks.size(), 4u);
  ASSERT_EQ(Run(blocks[0] + blocks[1], &output), 0) << output;
  EXPECT_NE(Run(blocks[2], &output), 0);
  EXPECT_THAT(output, HasSubstr("\"one\""));
  ASSERT_EQ(
      Run("sed -i '1s/$/ <unk>/' words/ptb.train.txt\n" + blocks[3], &output),
      0)
      << output;
  EXPECT_THAT(ReadFile(directory_ / "words/ptb.valid.txt").value_or(""),
              HasSubstr("\n<unk> <unk> <unk> <unk>\n"));
  ASSERT_EQ(Run(blocks[2], &output), 0) << output;
  EXPECT_THAT(output, HasSubstr("perplexity"));
  const size_t characters = words.find("**Characters.**");
  ASSERT_NE(characters, std::string::npos);
  EXPECT_THAT(RunCommands(words.substr(characters), 2),
              HasSubstr("bits per character"));
}

TEST_F(TaskPages, TextsAreSortedIntoClasses) {
  std::string book;
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&book, "A cow, number ", i % 7, ", feeds.\n\n");
  }
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&book, "\nRain falls behind barn ", i % 7, "\n");
  }
  Write("book.txt", book);
  EXPECT_THAT(RunCommands(Section("own_data.md", "Texts with a class"), 3),
              AllOf(HasSubstr("360 training examples, 40 test examples"),
                    HasSubstr("accuracy"), HasSubstr("begin"),
                    HasSubstr("train.tsv line ")));
  EXPECT_EQ(ReadFile(directory_ / "runs/texts/classes.txt").value_or(""),
            "begin\nend\n");
}

// A WAV file with half a second of silence, which it says in its header.
std::string Silence() {
  constexpr uint32_t kRate = 8000;
  constexpr uint32_t kBytes = kRate;
  std::string wav = "RIFF";
  const auto put = [&wav](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      wav.push_back(static_cast<char>(value >> 8 * i));
    }
  };
  put(36 + kBytes, 4);
  wav += "WAVEfmt ";
  put(16, 4), put(1, 2), put(1, 2);
  put(kRate, 4), put(2 * kRate, 4), put(2, 2), put(16, 2);
  wav += "data";
  put(kBytes, 4);
  return wav + std::string(kBytes, '\0');
}

TEST_F(TaskPages, RecordingsGetTheirListsAndAreTrained) {
  for (const char* part : {"train", "test"}) {
    for (int i = 0; i < 8; ++i) {
      const std::string name = absl::StrCat("recordings/", part, "/", i);
      Write(name + ".wav", Silence());
      Write(name + ".txt", i % 2 == 0 ? "YES\n" : "NO\n");
    }
  }
  EXPECT_THAT(RunCommands(Section("own_data.md", "Recordings"), 3),
              AllOf(HasSubstr("8 training examples, 8 test examples"),
                    HasSubstr("character error rate")));
}

TEST_F(TaskPages, SlowNetworksCommandsRun) {
  EXPECT_THAT(RunCommands(Page("slow_networks.md"), 8),
              AllOf(HasSubstr("bottleneck"), HasSubstr("8 workers, 2 servers"),
                    HasSubstr("With 1,000 workers at 1.00 Gbit/s, take "),
                    HasSubstr("sidco_e+int8_block"), HasSubstr("\nserver_sum "),
                    HasSubstr("runs/threads_2")));
  EXPECT_TRUE(fs::exists(directory_ / "runs/traced/trace.json"));
}

TEST_F(TaskPages, TroubleshootingsCommandsRun) {
  EXPECT_THAT(RunCommands(Page("troubleshooting.md"), 6),
              AllOf(HasSubstr("lower worker_optimizer.learning_rate, or set "
                              "training.non_finite=SKIP"),
                    HasSubstr("runs/none"), HasSubstr("server 0 takes at most"),
                    HasSubstr("a worker takes about")));
}

// What lies between "..." of a quoted message is in one of the programs; what
// follows a command is in the file that make_mistakes has written.
TEST(TroubleshootingDocument, QuotesTheProgramsMessages) {
  std::string programs;
  for (const char* program :
       {"tools/gradsieve", "server/server", "worker/worker"}) {
    programs += ReadFile(ProgramPath(program)).value_or("");
  }
  ASSERT_GT(programs.size(), 1u << 20);
  const std::string mistakes =
      ReadFile(ProgramPath("tests/documents/mistakes.md")).value_or("");
  int quoted = 0;
  int examples = 0;
  for (const std::string& block : Blocks(Page("troubleshooting.md"))) {
    if (IsCommand(block) || absl::StartsWith(block, " ")) continue;
    if (absl::StartsWith(block, "$ ")) {
      ++examples;
      const std::string lines = absl::StrReplaceAll(
          absl::StripSuffix(block, "\n"), {{"\n", "\n    "}});
      EXPECT_TRUE(absl::StrContains(mistakes, lines)) << block;
      continue;
    }
    ++quoted;
    for (absl::string_view piece :
         absl::StrSplit(absl::StripSuffix(block, "\n"), "...")) {
      piece = absl::StripAsciiWhitespace(piece);
      // Shorter ones are everywhere.
      if (piece.size() < 4) continue;
      EXPECT_TRUE(absl::StrContains(programs, piece)) << piece;
    }
  }
  EXPECT_GE(quoted, 20);
  EXPECT_GE(examples, 10);
}

}  // namespace
}  // namespace ps
