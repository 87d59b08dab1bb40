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

// The kernels of one step of training and of an evaluation.
class Launches {
 public:
  Launches(const std::string& model_name, const ExampleShape& example) {
    const auto backend = NewDeviceBackendForTest("cuda").value();
    ModelOptions options;
    options.config = SmallModel(model_name);
    options.example = example;
    options.backend = backend.get();
    const auto model = NewModel(options).value();
    const Batch batch =
        ModelFixture(options.config, options.example).RandomBatch(2, 1);
    const int64_t n = model->num_parameters();
    const Tensor weights = backend->Allocate({n}).value();
    Tensor gradient = backend->Allocate({n}).value();
    ptx::TakeLaunches();
    EXPECT_TRUE(
        model->ForwardBackward(batch, weights, &gradient, nullptr).ok());
    EXPECT_TRUE(model->Evaluate(batch, weights).ok());
    names_ = ptx::TakeLaunches();
  }

  int64_t Count(const std::string& part) const {
    return std::count_if(
        names_.begin(), names_.end(),
        [&](const std::string& name) { return absl::StrContains(name, part); });
  }

 private:
  std::vector<std::string> names_;
};

// In all of these: forward to train and to evaluate, backward once. Sums over
// channels take two kernels.

// Of three convolutions with a bias, a ReLU follows the second and the third,
// and a pooling layer the first. Nothing follows the two linear layers.
TEST(EmulatedLaunches, AConvolutionAppliesTheReluThatFollows) {
  const Launches launches("cifar_cnn", ColourShape(32, 10));
  EXPECT_EQ(launches.Count("AddBiasTo<"), 2 * (3 + 2));
  EXPECT_EQ(launches.Count("CudaActivationFunction<float>::Forward"), 2 * 1);
  EXPECT_EQ(launches.Count("SumActivatedBiasOf<"), 2 * 2);
  EXPECT_EQ(launches.Count("SumBiasOf<"), (1 + 2) * 2);
  EXPECT_EQ(launches.Count("CudaActivationFunction<float>::Backward"), 1);
}

// A ReLU follows two of the three linear layers.
TEST(EmulatedLaunches, ALinearLayerAddsItsBiasAndAppliesTheReluInOnePass) {
  const Launches launches("mlp", SmallExample("mlp"));
  EXPECT_EQ(launches.Count("AddBiasTo<"), 2 * 3);
  EXPECT_EQ(launches.Count("SumActivatedBiasOf<"), 2 * 2);
  EXPECT_EQ(launches.Count("SumBiasOf<"), 1 * 2);
  EXPECT_EQ(launches.Count("CudaActivationFunction<"), 0);
}

}  // namespace
}  // namespace ps
