#include "worker/gradient_dump.h"

#include <stdlib.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GradientDumpTest : public testing::Test {
 protected:
  GradientDumpTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/dump_XXXXXX");
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    folder_ = folder;
    backend_ = *NewCpuBackend(CpuBackendOptions());
    options_.config.set_every(3);
    options_.num_parameters = 2;
    options_.backend = backend_.get();
  }

  Tensor Gradient(float first) {
    Tensor gradient = *backend_->Allocate({2});
    const float values[] = {first, -first};
    EXPECT_TRUE(backend_->CopyFromHost(values, &gradient).ok());
    return gradient;
  }

  std::string folder_;
  std::unique_ptr<Backend> backend_;
  GradientDumpOptions options_;
};

TEST_F(GradientDumpTest, EveryThirdIterationBecomesARow) {
  options_.run_directory = folder_;
  auto dump = GradientDump::Create(options_);
  ASSERT_TRUE(dump.ok()) << dump.status();
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE((*dump)->Iteration(i, Gradient(static_cast<float>(i))).ok());
  }
  ASSERT_TRUE((*dump)->Close().ok());
  const auto array = ReadNpy<float>(folder_ + "/gradients/gradients.npy");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, ElementsAre(3, 2));
  EXPECT_THAT(array->elements,
              ElementsAre(0.0f, 0.0f, 3.0f, -3.0f, 6.0f, -6.0f));
}

TEST_F(GradientDumpTest, ADirectoryOfItsOwnGoesFirst) {
  options_.run_directory = folder_;
  options_.config.set_directory(folder_ + "/other/place");
  ASSERT_TRUE(GradientDump::Create(options_).ok());
  EXPECT_TRUE(ReadNpy<float>(folder_ + "/other/place/gradients.npy").ok());
}

TEST_F(GradientDumpTest, WithoutAnyDirectoryItSaysWhatToSet) {
  const absl::Status status = GradientDump::Create(options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("training.dump_gradients.directory is empty"));
}

TEST_F(GradientDumpTest, ADirectoryThatCannotBeIsNamed) {
  std::ofstream(folder_ + "/taken") << "a file";
  options_.config.set_directory(folder_ + "/taken");
  const absl::Status status = GradientDump::Create(options_).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("training.dump_gradients"),
                    HasSubstr(folder_ + "/taken")));
}

}  // namespace
}  // namespace ps
