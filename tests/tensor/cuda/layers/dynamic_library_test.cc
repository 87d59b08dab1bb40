// Libraries that are installed, and libraries that are not.

#include "tensor/cuda/libraries/dynamic_library.h"

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
