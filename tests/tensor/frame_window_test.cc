// Windows over frames: copies forward, and sums backward.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"

namespace ps {
namespace {

using FrameWindow = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, FrameWindow,
                         testing::ValuesIn(BackendNames()), BackendTestName);

FrameWindowShape Window(int64_t window, int64_t stride, int64_t before) {
  FrameWindowShape shape;
  shape.window = window;
  shape.stride = stride;
  shape.before = before;
  return shape;
}

std::vector<float> RunForward(const std::unique_ptr<Backend>& backend,
                              const FrameWindowShape& shape, const Shape& input,
                              const std::vector<float>& x) {
  const auto op =
      backend->sequences().PlanFrameWindow(shape, ActivationDesc::Plain(input));
  EXPECT_TRUE(op.ok()) << op.status();
  // Forward must overwrite these values.
  std::vector<float> y((*op)->output().num_floats, -1);
  EXPECT_TRUE((*op)->Forward(x.data(), y.data()).ok());
  return y;
}

TEST_P(FrameWindow, StacksFramesAndFillsTheLastWithZeros) {
  // Two features, one example.
  EXPECT_EQ(RunForward(NewBackend(2), Window(3, 3, 0), {5, 1, 2},
                       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0}));
}

TEST_P(FrameWindow, ShowsEveryFrameItsNeighbours) {
  // Two examples, one feature.
  EXPECT_EQ(RunForward(NewBackend(2), Window(3, 1, 1), {3, 2, 1},
                       {1, 10, 2, 20, 3, 30}),
            (std::vector<float>{0, 1, 2, 0, 10, 20,   //
                                1, 2, 3, 10, 20, 30,  //
                                2, 3, 0, 20, 30, 0}));
}

// Forward is linear, so <dy, W x> = <W' dy, x> for all x and dy shows that
// Backward is its transpose.
TEST_P(FrameWindow, BackwardIsTheTranspose) {
  const std::unique_ptr<Backend> backend = NewBackend(2);
  const Shape input = {19, 3, 4};
  for (const FrameWindowShape& shape :
       {Window(1, 1, 0), Window(3, 3, 0), Window(5, 1, 2), Window(4, 3, 1),
        Window(2, 5, 1), Window(40, 2, 20)}) {
    const auto op = backend->sequences().PlanFrameWindow(
        shape, ActivationDesc::Plain(input));
    ASSERT_TRUE(op.ok()) << op.status();
    EXPECT_EQ((*op)->output().shape,
              (Shape{shape.OutputFrames(19), 3, shape.window * 4}));
    const std::vector<float> x = RandomValues(NumElements(input), 1);
    const std::vector<float> dy = RandomValues((*op)->output().num_floats, 2);
    std::vector<float> y(dy.size()), dx(x.size(), -1);
    ASSERT_TRUE((*op)->Forward(x.data(), y.data()).ok());
    ASSERT_TRUE((*op)->Backward(nullptr, nullptr, dy.data(), dx.data()).ok());
    EXPECT_NEAR(Dot(dy, std::vector<double>(y.begin(), y.end())),
                Dot(dx, std::vector<double>(x.begin(), x.end())), 1e-4)
        << "window " << shape.window << ", stride " << shape.stride;
  }
}

TEST_P(FrameWindow, ShapesThatMakeNoWindowAreRefused) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto refused = [&](const FrameWindowShape& shape, const Shape& input) {
    return backend->sequences()
               .PlanFrameWindow(shape, ActivationDesc::Plain(input))
               .status()
               .code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(Window(0, 1, 0), {3, 1, 2}));
  EXPECT_TRUE(refused(Window(1, 0, 0), {3, 1, 2}));
  EXPECT_TRUE(refused(Window(2, 1, -1), {3, 1, 2}));
  EXPECT_TRUE(refused(Window(2, 1, 2), {3, 1, 2}));
  EXPECT_TRUE(refused(Window(2, 1, 0), {3, 2}));
  EXPECT_TRUE(refused(Window(2, 1, 0), {0, 1, 2}));
}

}  // namespace
}  // namespace ps
