// The kernels that a model launches, on an emulated device.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/batch.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "tests/models/model_fixture.h"
#include "tests/ptx/device.h"
#include "tests/tensor/every_backend.h"

namespace ps {
namespace {

// Of three convolutions with a bias, a ReLU follows the second and the third,
// and a pooling layer the first. cuBLASLt adds the linear layers' biases.
TEST(EmulatedLaunches, AConvolutionAppliesTheReluThatFollows) {
  const auto backend = NewDeviceBackendForTest("cuda");
  ASSERT_TRUE(backend.ok()) << backend.status();
  ModelOptions options;
  options.config = SmallModel("cifar_cnn");
  options.example = ColourShape(32, 10);
  options.backend = backend->get();
  const auto model = NewModel(options);
  ASSERT_TRUE(model.ok()) << model.status();
  const Batch batch =
      ModelFixture(options.config, options.example).RandomBatch(2, 1);
  const int64_t n = (*model)->num_parameters();
  const Tensor weights = (*backend)->Allocate({n}).value();
  Tensor gradient = (*backend)->Allocate({n}).value();
  ptx::TakeLaunches();
  ASSERT_TRUE(
      (*model)->ForwardBackward(batch, weights, &gradient, nullptr).ok());
  ASSERT_TRUE((*model)->Evaluate(batch, weights).ok());
  const std::vector<std::string> launches = ptx::TakeLaunches();
  const auto count = [&](const std::string& part) {
    return std::count_if(
        launches.begin(), launches.end(),
        [&](const std::string& name) { return absl::StrContains(name, part); });
  };
  // Forward to train and to evaluate, backward once. Sums over channels take
  // two kernels.
  EXPECT_EQ(count("AddBiasTo<"), 2 * 3);
  EXPECT_EQ(count("CudaActivationFunction<float>::Forward"), 2 * 1);
  EXPECT_EQ(count("SumActivatedBiasOf<"), 2 * 2);
  EXPECT_EQ(count("SumBiasOf<"), 1 * 2);
  EXPECT_EQ(count("CudaActivationFunction<float>::Backward"), 1);
}

}  // namespace
}  // namespace ps
