#include "tools/process/find_program.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(FindProgram, OwnProgramIsTheFileThatRuns) {
  const auto program = OwnProgram();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(fs::path(*program).filename(), "tools_test");
  const fs::path exe = fs::read_symlink("/proc/self/exe");
  // In a bundle that is the loader, and the program's launcher must be started.
  if (exe.filename() == "ld-linux-x86-64.so.2") {
    EXPECT_NE(fs::path(*program).parent_path().filename(), "elf");
  } else {
    EXPECT_EQ(*program, exe.string());
  }
}

TEST(FindProgram, CodeOfALibraryIsInTheLibrary) {
  const auto file = FileOfCode(reinterpret_cast<const void*>(&std::printf));
  ASSERT_TRUE(file.ok()) << file.status();
#ifndef __SANITIZE_ADDRESS__  // The sanitizer has its own printf.
  EXPECT_THAT(*file, HasSubstr("libc"));
#endif
}

TEST(FindProgram, AnAddressWithoutAFileIsAnError) {
  EXPECT_EQ(FileOfCode(nullptr).status().code(), absl::StatusCode::kInternal);
}

TEST(FindProgram, ALaunchedProgramIsStartedByItsLauncher) {
  const fs::path folder = NewTestDirectory();
  fs::create_directory(folder / "elf");
  std::ofstream(folder / "elf/worker") << "program";
  EXPECT_EQ(StartedAs(folder / "elf/worker"), folder / "elf/worker");
  std::ofstream(folder / "worker") << "launcher";
  EXPECT_EQ(StartedAs(folder / "elf/worker"), folder / "worker");
  EXPECT_EQ(StartedAs(folder / "worker"), folder / "worker");
  fs::remove_all(folder);
}

TEST(FindProgram, AMissingProgramIsNamedWithThePlaces) {
  const auto program = FindProgram("no_such_program");
  EXPECT_EQ(program.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(program.status().message()),
              HasSubstr("no_such_program/no_such_program"));
}

}  // namespace
}  // namespace ps
