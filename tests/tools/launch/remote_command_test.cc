#include "tools/launch/remote_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The output of a script of sh, to its last byte.
std::string ShellOutput(const std::string& script) {
  TestProcess process({"/bin/sh", "-c", script},
                      NewTestDirectory() + "/output");
  EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 0) << script;
  return process.Output();
}

TEST(RemoteCommand, EveryWordComesBackFromTheShell) {
  for (const std::string word :
       {"",          "plain",     "a b",
        "it's",      "'",         "''",
        "$HOME",     "`id`",      "a\"b",
        "a\\b",      "~",         "*",
        "a;b",       "a&b",       "!",
        "a!b",       "#",         "-n",
        "tab\there", "new\nline", "--set=data.directory=/my data",
        "\xc3\xa4"}) {
    EXPECT_EQ(ShellOutput("printf '%s.' " + QuoteForShell(word)), word + ".");
  }
  EXPECT_EQ(
      ShellOutput("printf '<%s>' " +
                  QuoteForShell(std::vector<std::string>{"a b", "", "c"})),
      "<a b><><c>");
}

TEST(RemoteCommand, PlainWordsStayReadable) {
  EXPECT_EQ(QuoteForShell("--set=cluster.servers=a:1,b:2"),
            "--set=cluster.servers=a:1,b:2");
}

// A stand-in for ssh, which shows its arguments.
TEST(RemoteCommand, SshGetsTheUsersOptionsFirst) {
  const std::string fake = NewTestDirectory() + "/fake ssh";
  ASSERT_TRUE(
      WriteFileAtomically(fake, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").ok());
  const std::string output = NewTestDirectory() + "/a file's name";
  TestProcess process(
      SshArguments("sh " + QuoteForShell(fake) + " -F 'my config'", "ann@b",
                   "echo 'a b'", output),
      NewTestDirectory() + "/output");
  EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 0) << process.Output();
  const absl::StatusOr<std::string> arguments = ReadFile(output);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->find("-F\nmy config\n-T\n"), 0u) << *arguments;
  EXPECT_THAT(*arguments, HasSubstr("\n-oBatchMode=yes\n"));
  EXPECT_THAT(*arguments, HasSubstr("\n--\nann@b\necho 'a b'\n"));
}

TEST(RemoteCommand, FilesArriveWhateverTheyHold) {
  const std::string folder = NewTestDirectory();
  for (const std::string text :
       {"one line\n", "no line end", "$HOME `id` \\ \"'\n", "\n\n",
        "END_OF_FILE\nmore\n", "END_OF_FILE_\nEND_OF_FILE\n"}) {
    ShellOutput(absl::StrCat("cd ", folder, "\n",
                             WriteFileCommand("a file", text), "exit 0\n"));
    const absl::StatusOr<std::string> read = ReadFile(folder + "/a file");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, text.back() == '\n' ? text : text + "\n");
  }
}

TEST(RemoteCommand, AFileThatCannotBeWrittenEndsTheScript) {
  TestProcess process(
      {"/bin/sh", "-c",
       WriteFileCommand("/no/such/folder/file", "text") + "exit 0\n"},
      NewTestDirectory() + "/output");
  EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 1);
}

}  // namespace
}  // namespace ps
