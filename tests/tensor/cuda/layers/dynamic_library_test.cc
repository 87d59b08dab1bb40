// Libraries that are installed, and libraries that are not.

#include "tensor/cuda/libraries/dynamic_library.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/cuda/libraries/library_folders.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(DynamicLibrary, FindsFunctionsOfTheFirstThatIsThere) {
  constexpr const char* kNames[] = {"libnothing_of_this_name.so", "libm.so.6"};
  const auto library = DynamicLibrary::Open(kNames);
  ASSERT_TRUE(library.ok()) << library.status();
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library->Find("cos", &cosine).ok());
  EXPECT_EQ(cosine(0), 1);
  const absl::Status status = library->Find("no_function_of_this", &cosine);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(
      status.message(), "libm.so.6 has no function no_function_of_this"))
      << status;
}

// As the parts of cuDNN in the folder of a Python wheel are.
TEST(DynamicLibrary, LoadsOthersFromItsFolder) {
  Dl_info math;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&::cbrt), &math), 0);
  const std::string file = testing::TempDir() + "/libfirst_copy.so";
  for (const char* const name : {"/libfirst_copy.so", "/libsecond_copy.so"}) {
    std::ofstream(testing::TempDir() + name, std::ios::binary)
        << std::ifstream(math.dli_fname, std::ios::binary).rdbuf();
  }
  const auto library = DynamicLibrary::Open({file.c_str()});
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->LoadBeside("libsecond_copy.so"), absl::OkStatus());
  EXPECT_EQ(library->LoadBeside("libm.so.6"), absl::OkStatus());
  const absl::Status status = library->LoadBeside("libthird_copy.so");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "libthird_copy.so"))
      << status;
}

TEST(DynamicLibrary, NamesAllThatAreNotThere) {
  constexpr const char* kNames[] = {"libnothing_a.so", "libnothing_b.so"};
  const absl::Status status = DynamicLibrary::Open(kNames).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  for (const char* const name : kNames) {
    EXPECT_TRUE(absl::StrContains(status.message(), name)) << status;
  }
}

// A virtual environment with NVIDIA's packages, which is first in PATH.
class PythonPackages : public testing::Test {
 protected:
  PythonPackages() {
    fs::remove_all(root_);
    for (const char* const package : {"cu13", "cudnn"}) {
      fs::create_directories(Folder(package));
    }
    fs::create_directories(root_ / "venv/bin");
    std::ofstream(root_ / "venv/bin/python3") << "#!/bin/sh\n";
    setenv("PATH", absl::StrCat(bin(), ":", path_).c_str(), 1);
  }
  ~PythonPackages() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(root_);
  }

  std::string bin() const { return root_ / "venv/bin"; }
  std::string Folder(const std::string& package) const {
    return absl::StrCat(bin(), "/../lib/python3.12/site-packages/nvidia/",
                        package, "/lib");
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "python_packages";
  const std::string path_ = std::getenv("PATH");
};

TEST_F(PythonPackages, HaveTheFoldersOfEveryPythonOfThePath) {
  EXPECT_THAT(PythonLibraryFolders(absl::StrCat("/nowhere::", bin()), ""),
              ElementsAre(Folder("cu13"), Folder("cudnn")));
  // Without its program, an environment is not used.
  fs::remove(root_ / "venv/bin/python3");
  EXPECT_THAT(PythonLibraryFolders(bin(), ""), ElementsAre());
  const std::string of_user =
      root_ / "home/.local/lib/python3.11/site-packages/nvidia/cublas/lib";
  fs::create_directories(of_user);
  EXPECT_THAT(PythonLibraryFolders(bin(), root_ / "home"),
              ElementsAre(of_user));
}

TEST_F(PythonPackages, HaveLibrariesThatTheLoaderDoesNotFind) {
  constexpr const char* kName[] = {"libonly_in_a_package.so.13"};
  const absl::Status missing = DynamicLibrary::Open(kName).status();
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr(absl::StrCat(Folder("cudnn"), "/", kName[0])));
  const std::string file = absl::StrCat(Folder("cu13"), "/", kName[0]);
  fs::copy_file(DynamicLibrary::Open({"libm.so.6"})->path(), file);
  const auto library = DynamicLibrary::Open(kName);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->path(), file);
}

}  // namespace
}  // namespace ps
