// Checks documents: their commands run, their links lead to files, and the
// examples are valid jobs.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/data/encode_image_for_test.h"
#include "tests/documents/built_clone.h"
#include "tools/bench/network/slow_network.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Indented lines of a document that start with `prefix`, in order.
std::vector<std::string> Commands(const std::string& document,
                                  const std::string& prefix) {
  std::vector<std::string> commands;
  for (const absl::string_view line :
       absl::StrSplit(ReadText(ProgramPath(document)), '\n')) {
    if (absl::StartsWith(line, "    " + prefix)) {
      commands.emplace_back(line.substr(4));
    }
  }
  return commands;
}

constexpr char kFirstJob[] = "docs/first_job.md";

class Documents : public BuiltClone {};

TEST_F(Documents, ReadmesCommandTrains) {
  const std::vector<std::string> commands = Commands("README.md", "gradsieve ");
  ASSERT_EQ(commands.size(), 1u);
  std::string output;
  EXPECT_EQ(Run(commands[0], &output), 0) << output;
  EXPECT_THAT(output, HasSubstr("test accuracy"));
}

TEST_F(Documents, FirstJobRunsCommandByCommand) {
  std::vector<std::string> commands = Commands(kFirstJob, "cp deploy");
  for (const std::string& command :
       Commands(kFirstJob, "gradsieve train my_job")) {
    commands.push_back(command);
  }
  ASSERT_EQ(commands.size(), 3u);
  std::string output;
  for (const std::string& command : commands) {
    EXPECT_EQ(Run(command, &output), 0) << command << "\n" << output;
  }
  EXPECT_THAT(output, HasSubstr("test accuracy"));
  EXPECT_TRUE(fs::exists(directory_ / "runs/my_job/weights.safetensors"));
  // As if it had been interrupted.
  const std::vector<std::string> resume =
      Commands(kFirstJob, "gradsieve train --resume");
  ASSERT_EQ(resume.size(), 1u);
  EXPECT_EQ(Run(resume[0], &output), 1);
  EXPECT_THAT(output, HasSubstr("the run in runs/my_job is complete"));
  // A longer one.
  fs::remove_all(directory_ / "runs/my_job");
  const std::string longer = commands.back() + " --set=checkpoint.every=10";
  EXPECT_EQ(Run(longer, &output), 0) << output;
  fs::remove(directory_ / "runs/my_job/summary.json");
  EXPECT_EQ(Run(resume[0], &output), 0) << output;
  EXPECT_THAT(output, HasSubstr("test accuracy"));
}

TEST_F(Documents, FirstJobsCommandsOnCompressorsRun) {
  std::vector<std::string> commands;
  for (const char* start :
       {"train deploy/examples/mlp_digits.textproto --set training.max",
        "compress ", "bench compressors "}) {
    for (const std::string& command :
         Commands(kFirstJob, absl::StrCat("gradsieve ", start))) {
      commands.push_back(command);
    }
  }
  ASSERT_EQ(commands.size(), 3u);
  for (const std::string& command : commands) {
    std::string output;
    EXPECT_EQ(Run(command, &output), 0) << command << "\n" << output;
  }
  EXPECT_TRUE(fs::exists(directory_ / "runs/dump/sieved/summary.json"));
  EXPECT_TRUE(fs::exists(directory_ / "bench.json"));
}

TEST_F(Documents, FirstJobsSlowNetworkCommandRuns) {
  const absl::Status available = SlowNetwork::CheckAvailable();
  if (!available.ok()) GTEST_SKIP() << available.message();
  const std::string sudo = "sudo ";
  const std::vector<std::string> commands =
      Commands(kFirstJob, sudo + "$(command -v gradsieve) bench network ");
  ASSERT_EQ(commands.size(), 1u);
  std::string output;
  EXPECT_EQ(Run(commands[0].substr(sudo.size()), &output), 0) << output;
  EXPECT_THAT(output, HasSubstr("speed-up"));
}

TEST_F(Documents, FirstJobsMnistCommandsRun) {
  const char* const shared = std::getenv("GRADSIEVE_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "GRADSIEVE_SHARED is not set";
  const std::string page = ReadText(ProgramPath(kFirstJob));
  const size_t begin = page.find("    for c in none topk sidco");
  const size_t end = page.find("    done\n", begin);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  // Few iterations, because this only tests that the commands run.
  const std::string command = absl::StrReplaceAll(
      page.substr(begin, end + 8 - begin),
      {{"=DIR", absl::StrCat("=", shared, "/data/mnist",
                             " --set training.max_iterations=3 || exit")}});
  std::string output;
  EXPECT_EQ(Run(command, &output), 0) << command << "\n" << output;
}

TEST_F(Documents, EvaluationsCommandsRunInOrder) {
  // The photographs of which the document speaks.
  EncodeOptions options;
  options.width = options.height = 8;
  for (const std::string name :
       {"data/train/cat/1", "data/train/dog/1", "data/test/cat/1",
        "data/test/dog/1", "holiday/deep/beach"}) {
    const fs::path path = directory_ / (name + ".png");
    fs::create_directories(path.parent_path());
    std::ofstream(path) << EncodePng(std::vector<uint8_t>(3 * 8 * 8, 99),
                                     options);
  }
  std::ofstream(directory_ / "photos.textproto") << R"(
      model { name: "mlp" }
      data { name: "image_folder" directory: "data"
             image_folder { side: 8 test_resize: 8 } }
      training { batch_size: 2 }
      cluster { num_workers: 1 num_servers: 1 })";
  const std::vector<std::string> commands =
      Commands("docs/evaluation.md", "gradsieve ");
  ASSERT_EQ(commands.size(), 13u);
  std::string output;
  std::string all;
  for (const std::string& command : commands) {
    EXPECT_EQ(Run(command, &output), 0) << command << "\n" << output;
    all += output;
  }
  // What it prints of the first evaluation.
  const std::vector<std::string> lines =
      Commands("docs/evaluation.md", "runs/digits/weights.safetensors (mlp)");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(all, HasSubstr(lines[0]));
  const std::vector<std::string> headings =
      Commands("docs/evaluation.md", "file,label,");
  ASSERT_EQ(headings.size(), 1u);
  EXPECT_THAT(ReadText(directory_ / "predictions.csv"),
              HasSubstr(headings[0] + "\n"));
  EXPECT_THAT(all, HasSubstr("\"file\":\"holiday/deep/beach.png\""));
  EXPECT_THAT(all, HasSubstr("proponents, which lowered this loss"));
  EXPECT_THAT(all, HasSubstr("highest self-influence"));
  for (const char* file :
       {"train.json", "why.html", "self.json", "sketches.npy"}) {
    EXPECT_TRUE(fs::exists(directory_ / file)) << file;
  }
}

// As it is, or with generated data, as the message says.
TEST_F(Documents, EveryExampleIsAValidJob) {
  int examples = 0;
  int without_files = 0;
  const std::regex generated("--set data.name=[a-z_]+");
  for (const auto& entry :
       fs::directory_iterator(directory_ / "deploy/examples")) {
    ++examples;
    std::string output;
    const std::string check =
        absl::StrCat("gradsieve train --check ", entry.path().string(), " ");
    if (Run(check, &output) == 0) {
      ++without_files;
      continue;
    }
    std::smatch found;
    ASSERT_TRUE(std::regex_search(output, found, generated)) << output;
    const std::string again = check + found.str();
    EXPECT_EQ(Run(again, &output), 0) << output;
  }
  EXPECT_EQ(without_files, 3);
  EXPECT_GE(examples, 5);
}

// The anchors that GitHub makes of a page's headings.
std::set<std::string> Anchors(const std::string& text) {
  std::set<std::string> anchors;
  const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "#")) continue;
    while (absl::ConsumePrefix(&line, "#")) continue;
    std::string anchor;
    for (const char c : std::regex_replace(
             std::string(absl::StripAsciiWhitespace(line)), link, "$1")) {
      if (c == ' ') anchor += '-';
      if (c == '-' || c == '_' || absl::ascii_isalnum(c) || (c & 0x80) != 0) {
        anchor += absl::ascii_tolower(c);
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST_F(Documents, LinksLeadSomewhere) {
  std::vector<std::string> documents = {"README.md", "CONTRIBUTING.md"};
  for (const auto& entry : fs::directory_iterator(ProgramPath("docs"))) {
    if (entry.path().extension() != ".md") continue;
    documents.push_back("docs/" + entry.path().filename().string());
  }
  EXPECT_GT(documents.size(), 20);
  const std::regex link(R"(\]\(([^)#]*)#?([^)]*)\))");
  for (const std::string& document : documents) {
    const fs::path path = ProgramPath(document);
    const std::string text = ReadText(path);
    for (std::sregex_iterator it(text.begin(), text.end(), link), end;
         it != end; ++it) {
      const std::string target = (*it)[1];
      if (absl::StartsWith(target, "http")) continue;
      const std::string anchor = (*it)[2];
      const fs::path page = target.empty() ? path : path.parent_path() / target;
      EXPECT_TRUE(fs::exists(page)) << document << ": " << target;
      if (anchor.empty() || !fs::exists(page)) continue;
      EXPECT_THAT(Anchors(ReadText(page)), Contains(anchor))
          << document << ": " << target;
    }
  }
}

// It makes the mistakes and compares.
TEST_F(Documents, MistakesAreAnsweredAsWrittenDown) {
  std::string command =
      ProgramPath("tests/documents/make_mistakes") + " --check";
  for (const char* program :
       {"tools/gradsieve", "server/server", "worker/worker"}) {
    absl::StrAppend(&command, " --", fs::path(program).filename().string(), "=",
                    ProgramPath(program));
  }
  std::string output;
  EXPECT_EQ(Run(command, &output), 0) << output;
}

TEST_F(Documents, FiguresAreTheMeasuredOnes) {
  std::string output;
  EXPECT_EQ(Run(ProgramPath("docs/training_figures") + " --check", &output), 0)
      << output;
}

TEST_F(Documents, InstalledProgramsAreOnPathAndFindEachOther) {
  for (const std::string program :
       {"tools/gradsieve", "server/server", "worker/worker", "bridge/bridge"}) {
    const fs::path built = directory_ / "bazel-bin" / program;
    fs::create_directories(built.parent_path());
    fs::create_symlink(ProgramPath(program), built);
  }
  fs::create_directories(directory_ / "tools");
  fs::copy_file(ProgramPath("tools/install"), directory_ / "tools/install");
  std::string output;
  ASSERT_EQ(Run("tools/install --prefix home", &output), 0) << output;
  EXPECT_THAT(output, HasSubstr("home/bin is not on PATH; add it"));
  const std::string on_path = "PATH=$PWD/home/bin:$PATH ";
  EXPECT_EQ(
      Run(on_path + "gradsieve train deploy/examples/mlp_digits.textproto "
                    "--set training.max_iterations=2 --run-dir=run",
          &output),
      0)
      << output;
  for (const std::string program : {"server", "worker"}) {
    EXPECT_EQ(Run(on_path + program + " --version", &output), 0) << output;
  }
  EXPECT_THAT(
      ReadText(directory_ / "home/share/bash-completion/completions/gradsieve"),
      HasSubstr("complete -F _gradsieve gradsieve"));
  // A second time it replaces the first.
  EXPECT_EQ(Run("tools/install --prefix=home", &output), 0) << output;
  EXPECT_EQ(Run("tools/install --prefix=home --uninstall", &output), 0)
      << output;
  EXPECT_FALSE(fs::exists(directory_ / "home/lib/gradsieve"));
  EXPECT_TRUE(fs::is_empty(directory_ / "home/bin"));
  EXPECT_EQ(Run("tools/install --prefix=home --uninstall", &output), 1);
  EXPECT_THAT(output, HasSubstr("there is no installation below"));
  // Others' files stay.
  EXPECT_EQ(
      Run("touch home/bin/server && tools/install --prefix=home", &output), 1);
  EXPECT_THAT(output, HasSubstr("home/bin/server is there and not from an "
                                "installation; remove it"));
  EXPECT_FALSE(fs::exists(directory_ / "home/lib/gradsieve"));
}

TEST_F(Documents, HelpOfEveryProgramNamesItsOptions) {
  std::string output;
  const std::string bin = "gradsieve";
  EXPECT_EQ(Run(bin + " --help", &output), 0);
  EXPECT_THAT(output, HasSubstr("train"));
  EXPECT_EQ(Run(bin + " train --help", &output), 0);
  EXPECT_THAT(output, HasSubstr("--run-dir"));
  EXPECT_EQ(Run(bin + " compress --help", &output), 0);
  EXPECT_THAT(output, HasSubstr("--gradient"));
  EXPECT_EQ(Run(bin + " bench compressors --help", &output), 0);
  EXPECT_THAT(output, HasSubstr("--ratios"));
  EXPECT_EQ(Run(bin + " bench load --help", &output), 0);
  EXPECT_THAT(output, HasSubstr("--sweep-workers"));
  EXPECT_EQ(Run(bin + " bench network --help", &output), 0);
  EXPECT_THAT(output, HasSubstr("--bandwidth"));
  EXPECT_EQ(Run(bin + " --version", &output), 0);
  EXPECT_THAT(output, HasSubstr("gradsieve 0."));
  for (const std::string program : {"server", "worker", "bridge"}) {
    EXPECT_EQ(Run(ProgramPath(program + "/" + program) + " --version", &output),
              0);
    EXPECT_THAT(output, HasSubstr(program + " 0."));
  }
  EXPECT_EQ(Run(bin + " trian", &output), 64);
  EXPECT_THAT(output, HasSubstr("did you mean \"train\"?"));
  for (const char* script : {"quickstart", "test"}) {
    EXPECT_EQ(Run(ProgramPath(script) + " --help", &output), 0);
    EXPECT_THAT(output, HasSubstr("Usage: ./"));
    EXPECT_EQ(Run(ProgramPath(script) + " --nonsense", &output), 64);
    EXPECT_THAT(output, HasSubstr("--nonsense"));
  }
}

}  // namespace
}  // namespace ps
