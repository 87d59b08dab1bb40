// Libraries that are installed, and libraries that are not.

#include "tensor/cuda/libraries/dynamic_library.h"

#include <dlfcn.h>

#include <cmath>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

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

}  // namespace
}  // namespace ps
