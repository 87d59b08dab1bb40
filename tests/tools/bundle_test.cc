// A bundle of few programs, unpacked where nothing of this machine's
// environment is visible.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// A bundle holds optimised programs.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr absl::Duration kBound = absl::Seconds(600);

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Runs a shell command in a folder and stores its output in *output.
int RunIn(const fs::path& folder, const std::string& command,
          std::string* output) {
  TestProcess process(
      {"/bin/sh", "-c", absl::StrCat("cd ", folder.string(), " && ", command)},
      folder / "output");
  const int code = process.WaitForExit(kBound);
  *output = process.Output();
  return code;
}

// Writes the bundle FOLDER/NAME.
void Pack(const fs::path& folder, const std::string& name) {
  std::ofstream list(folder / "list");
  for (const char* program :
       {"tools/gradsieve", "server/server", "worker/worker", "bridge/bridge"}) {
    list << "program\t" << program << "\t" << ProgramPath(program) << "\n";
    list << "link\tbin/" << fs::path(program).filename().string() << "\t../"
         << program << "\n";
  }
  list << "test\ttests/tools/tools_test\t"
       << ProgramPath("tests/tools/tools_test") << "\n";
  list << "file\tjob.textproto\t"
       << ProgramPath("deploy/examples/mlp_digits.textproto") << "\n";
  list.close();
  std::string output;
  ASSERT_EQ(
      RunIn(folder,
            absl::StrCat(ProgramPath("tools/bundling/pack"), " --output=", name,
                         " --name=gradsieve --version=of_a_test <list"),
            &output),
      0)
      << output;
}

class Bundle : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    packed_ = NewTestDirectory();
    Pack(packed_, "bundle.tar");
  }
  static void TearDownTestSuite() { fs::remove_all(packed_); }

  Bundle() : directory_(fs::canonical(NewTestDirectory())) {}
  ~Bundle() override { fs::remove_all(directory_); }

  int Run(const std::string& command) {
    return RunIn(directory_, command, &output_);
  }

  // The same with an environment that only has a PATH.
  int RunClean(const std::string& command) {
    return Run("env -i PATH=/usr/bin:/bin " + command);
  }

  // In a folder with a space and another name than it was packed with.
  void Unpack() {
    ASSERT_EQ(Run(absl::StrCat("mkdir 'else where' && tar xf ",
                               (packed_ / "bundle.tar").string(),
                               " -C 'else where' && "
                               "mv 'else where/gradsieve' 'else where/b'")),
              0)
        << output_;
  }

  static fs::path packed_;
  const fs::path directory_;
  std::string output_;
};

fs::path Bundle::packed_;

TEST_F(Bundle, SameProgramsMakeTheSameBytes) {
  Pack(directory_, "again.tar");
  EXPECT_EQ(Run("cmp again.tar " + (packed_ / "bundle.tar").string()), 0)
      << output_;
}

TEST_F(Bundle, RunsElsewhereWithItsOwnLibraries) {
  Unpack();
  EXPECT_EQ(RunClean("'else where/b/bin/gradsieve' --help"), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("doctor"));

  // Through a link, as in a folder of the PATH.
  EXPECT_EQ(
      Run("ln -s 'else where/b/bin/gradsieve' g && "
          "env -i PATH=/usr/bin:/bin ./g train 'else where/b/job.textproto'"
          " --run-dir=run --set training.max_iterations=3"),
      0)
      << output_;
  EXPECT_THAT(output_, HasSubstr("test accuracy"));
  EXPECT_TRUE(fs::exists(directory_ / "run/weights.safetensors"));

  EXPECT_EQ(RunClean("'else where/b/self_check'"), 0) << output_;
  const std::string lib = (directory_ / "else where/b/lib").string();
  EXPECT_THAT(output_,
              AllOf(HasSubstr("of_a_test"),
                    HasSubstr(lib + "/libc.so.6, loaded by " + lib + "/ld-"),
                    HasSubstr("a server and a worker have trained")));

  EXPECT_EQ(RunClean("'else where/b/run_tests' tools_test"), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("1 passed, 0 skipped, 0 failed"));
  EXPECT_EQ(RunClean("'else where/b/run_tests' no_such_test"), 64) << output_;
}

TEST_F(Bundle, NamesTheSourceOfEveryLibrary) {
  Unpack();
  const fs::path bundle = directory_ / "else where/b";
  const auto sbom = nlohmann::json::parse(ReadText(bundle / "sbom.spdx.json"));
  EXPECT_EQ(sbom["spdxVersion"], "SPDX-2.3");
  std::string sources;  // "NAME VERSION: FILE, FILE" lines.
  for (const auto& package : sbom["packages"]) {
    if (!package.contains("comment")) continue;
    sources += package["name"].get<std::string>() + " " +
               package.value("versionInfo", "unknown") + " " +
               package["comment"].get<std::string>() + ",\n";
  }
  EXPECT_THAT(sources, AllOf(HasSubstr("grpc 1."), HasSubstr("onednn "),
                             HasSubstr("nlohmann/json.hpp,")));
  for (const auto& entry : fs::directory_iterator(bundle / "lib")) {
    const std::string name = entry.path().filename();
    if (name == "launch.sh") continue;
    EXPECT_THAT(sources, HasSubstr(" " + name + ","));
  }
}

// The flags of .bazelrc have reached the compiler and the linker.
TEST_F(Bundle, HoldsHardenedPrograms) {
  for (const char* program :
       {"tools/gradsieve", "server/server", "worker/worker", "bridge/bridge"}) {
    ASSERT_EQ(Run("readelf --wide --file-header --segments --dynamic "
                  "--dyn-syms " +
                  ProgramPath(program)),
              0)
        << output_;
    EXPECT_THAT(output_,
                AllOf(HasSubstr("Flags: NOW PIE"), HasSubstr("GNU_RELRO"),
                      HasSubstr("__stack_chk_fail"), HasSubstr("__memcpy_chk"),
                      Not(ContainsRegex("GNU_STACK[^\n]*RWE"))))
        << program;
  }
}

TEST_F(Bundle, HoldsNothingOfTheDriversOrCudas) {
  Unpack();
  for (const auto& entry :
       fs::directory_iterator(directory_ / "else where/b/lib")) {
    const std::string name = entry.path().filename();
    EXPECT_THAT(name, AllOf(Not(HasSubstr("libcu")), Not(HasSubstr("libnv"))));
  }
}

TEST_F(Bundle, NamesWhatIsMissingOrDamaged) {
  Unpack();
  const fs::path bundle = directory_ / "else where/b";
  const fs::path library = bundle / "lib/libdnnl.so.2";
  const std::string bytes = ReadText(library);
  fs::remove(library);
  EXPECT_EQ(RunClean("'else where/b/self_check'"), 1) << output_;
  EXPECT_THAT(output_, HasSubstr("MISSING   lib/libdnnl.so.2"));

  std::ofstream(library, std::ios::binary) << bytes << "more";
  EXPECT_EQ(RunClean("'else where/b/self_check'"), 1) << output_;
  EXPECT_THAT(output_, HasSubstr("DAMAGED   lib/libdnnl.so.2"));

  fs::remove(bundle / "lib/ld-linux-x86-64.so.2");
  EXPECT_EQ(RunClean("'else where/b/bin/gradsieve' --help"), 127) << output_;
  EXPECT_THAT(output_, AllOf(HasSubstr("ld-linux-x86-64.so.2 is missing"),
                             HasSubstr("self_check")));
}

#else

TEST(Bundle, HoldsOptimisedPrograms) { GTEST_SKIP() << "with a sanitizer"; }

#endif

}  // namespace
}  // namespace ps
