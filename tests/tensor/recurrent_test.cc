// LSTM and GRU, compared with their equations.

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tensor/sequence_kernels.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"
#include "tests/tensor/finite_difference.h"
#include "tests/tensor/reference_recurrent.h"

namespace ps {
namespace {

using RecurrentLayer = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, RecurrentLayer,
                         testing::ValuesIn(BackendNames()), BackendTestName);

// For sums of a few dozen products, through a few steps.
constexpr double kTolerance = 1e-5;

struct RecurrentCase {
  RecurrentShape::Cell cell;
  int64_t steps;
  int64_t batch;
  int64_t features;
  int64_t hidden;
};

// A layer with random weights, and the results of Backward.
class Layer {
 public:
  Layer(const RecurrentCase& c, std::unique_ptr<Backend> backend)
      : backend_(std::move(backend)), input_({c.steps, c.batch, c.features}) {
    shape_.cell = c.cell;
    shape_.hidden = c.hidden;
    auto op = backend_->sequences().PlanRecurrent(
        shape_, ActivationDesc::Plain(input_));
    EXPECT_TRUE(op.ok()) << op.status();
    op_ = *std::move(op);
    const int64_t rows = shape_.num_gates() * c.hidden;
    weights_ = {RandomValues(rows * c.features, 1),
                RandomValues(rows * c.hidden, 2), RandomValues(rows, 3),
                RandomValues(rows, 4)};
    for (const std::vector<float>& weight : weights_) {
      gradients_.emplace_back(weight.size(), 1e30f);
    }
  }

  RecurrentOp& op() { return *op_; }
  const RecurrentShape& shape() const { return shape_; }
  const Shape& input() const { return input_; }
  const std::vector<std::vector<float>>& weights() const { return weights_; }
  const std::vector<std::vector<float>>& gradients() const {
    return gradients_;
  }

  std::vector<float> Forward(const std::vector<float>& x) {
    std::vector<float> y(op_->output().num_floats);
    const absl::Status status = op_->Forward(x.data(), Pointers(), y.data());
    EXPECT_TRUE(status.ok()) << status;
    return y;
  }

  // Returns dx.
  std::vector<float> Backward(const std::vector<float>& x,
                              const std::vector<float>& dy) {
    std::vector<float> dx(x.size(), 1e30f);
    BackwardTo(x, dy, dx.data());
    return dx;
  }

  void BackwardTo(const std::vector<float>& x, const std::vector<float>& dy,
                  float* dx) {
    RecurrentOp::BackwardArguments arguments;
    arguments.x = x.data();
    arguments.dy = dy.data();
    arguments.weights = Pointers();
    arguments.dx = dx;
    arguments.gradients = {gradients_[0].data(), gradients_[1].data(),
                           gradients_[2].data(), gradients_[3].data()};
    const absl::Status status = op_->Backward(arguments);
    EXPECT_TRUE(status.ok()) << status;
  }

  ReferenceState ZeroState() const {
    const std::vector<double> zeros(input_[1] * shape_.hidden);
    return {zeros, zeros};
  }

  ReferenceTensor Reference(const std::vector<double>& x,
                            const std::vector<std::vector<double>>& weights,
                            ReferenceState* state) const {
    return ReferenceRecurrent(shape_, {input_, x},
                              {weights[0], weights[1], weights[2], weights[3]},
                              state);
  }

 private:
  RecurrentOp::Weights Pointers() const {
    return {weights_[0].data(), weights_[1].data(), weights_[2].data(),
            weights_[3].data()};
  }

  const std::unique_ptr<Backend> backend_;
  const Shape input_;
  RecurrentShape shape_;
  std::unique_ptr<RecurrentOp> op_;
  std::vector<std::vector<float>> weights_;  // W_ih, W_hh, b_ih, b_hh.
  std::vector<std::vector<float>> gradients_;
};

std::vector<double> ToDouble(const std::vector<float>& values) {
  return std::vector<double>(values.begin(), values.end());
}

using Recurrent = EveryBackendAndCase<RecurrentCase>;

std::vector<std::string> RecurrentBackendNames() {
  std::vector<std::string> names = BackendNames();
  names.push_back("cuda_cudnn_recurrent");
  return names;
}

// Tests the second of two windows: its initial state comes from the first one,
// and is a constant for its gradient.
TEST_P(Recurrent, EqualsItsEquationsForwardAndBackwardFromACarriedState) {
  Layer layer(GetCase(), NewBackend());
  const int64_t n = NumElements(layer.input());
  std::vector<std::vector<double>> weights;
  for (const auto& weight : layer.weights()) {
    weights.push_back(ToDouble(weight));
  }
  const std::vector<float> first_x = RandomValues(n, 5);
  const std::vector<float> x = RandomValues(n, 6);
  ReferenceState carried = layer.ZeroState();
  ExpectClose(layer.Forward(first_x),
              layer.Reference(ToDouble(first_x), weights, &carried).values,
              kTolerance);
  const std::vector<float> y = layer.Forward(x);
  const auto reference = [&](const std::vector<double>& x,
                             const std::vector<std::vector<double>>& weights) {
    ReferenceState state = carried;
    return layer.Reference(x, weights, &state).values;
  };
  ExpectClose(y, reference(ToDouble(x), weights), kTolerance);

  const std::vector<float> dy = RandomValues(y.size(), 7);
  const std::vector<float> dx = layer.Backward(x, dy);
  FiniteDifferenceOptions options;
  options.name = "x";
  options.step = 1e-4;
  options.tolerance = kTolerance;
  options.max_elements = 60;
  ExpectGradient(
      options,
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(v, weights));
      },
      x, dx);
  const char* const names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  for (size_t w = 0; w < weights.size(); ++w) {
    options.name = names[w];
    ExpectGradient(
        options,
        [&](const std::vector<double>& v) {
          std::vector<std::vector<double>> changed = weights;
          changed[w] = v;
          return Dot(dy, reference(ToDouble(x), changed));
        },
        layer.weights()[w], layer.gradients()[w]);
  }
}

TEST_P(Recurrent, BackwardWithoutDxWritesTheSameGradients) {
  Layer with(GetCase(), NewBackend()), without(GetCase(), NewBackend());
  const std::vector<float> x = RandomValues(NumElements(with.input()), 5);
  const std::vector<float> dy = RandomValues(with.Forward(x).size(), 6);
  without.Forward(x);
  with.Backward(x, dy);
  without.BackwardTo(x, dy, nullptr);
  EXPECT_EQ(with.gradients(), without.gradients());
}

TEST_P(Recurrent, ResetForgetsTheState) {
  Layer layer(GetCase(), NewBackend());
  const std::vector<float> x = RandomValues(NumElements(layer.input()), 5);
  const std::vector<float> first = layer.Forward(x);
  EXPECT_NE(layer.Forward(x), first);
  layer.op().ResetState();
  EXPECT_EQ(layer.Forward(x), first);
}

TEST_P(Recurrent, BackwardLeavesTheStateAsItIs) {
  Layer plain(GetCase(), NewBackend()), trained(GetCase(), NewBackend());
  const std::vector<float> x = RandomValues(NumElements(plain.input()), 5);
  plain.Forward(x);
  trained.Backward(x, trained.Forward(x));
  EXPECT_EQ(plain.Forward(x), trained.Forward(x));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Recurrent,
    testing::Combine(
        testing::ValuesIn(RecurrentBackendNames()),
        testing::Values(RecurrentCase{RecurrentShape::Cell::kLstm, 7, 3, 4, 5},
                        RecurrentCase{RecurrentShape::Cell::kLstm, 1, 1, 1, 1},
                        RecurrentCase{RecurrentShape::Cell::kLstm, 3, 9, 5, 21},
                        RecurrentCase{RecurrentShape::Cell::kGru, 7, 3, 4, 5},
                        RecurrentCase{RecurrentShape::Cell::kGru, 1, 1, 1, 1},
                        RecurrentCase{RecurrentShape::Cell::kGru, 3, 9, 5,
                                      21})),
    [](const testing::TestParamInfo<Recurrent::ParamType>& info) {
      const RecurrentCase& c = std::get<1>(info.param);
      return absl::StrCat(
          std::get<0>(info.param), "_",
          c.cell == RecurrentShape::Cell::kLstm ? "Lstm_" : "Gru_", c.steps,
          "x", c.batch, "x", c.features, "_to_", c.hidden);
    });

TEST(RecurrentThreads, TwoThreadsComputeTheSame) {
  const RecurrentCase c = {RecurrentShape::Cell::kLstm, 4, 13, 16, 24};
  Layer one(c, CpuBackendForTest(1)), two(c, CpuBackendForTest(2));
  const std::vector<float> x = RandomValues(NumElements(one.input()), 5);
  const std::vector<float> y = one.Forward(x);
  const std::vector<float> y2 = two.Forward(x);
  ExpectClose(y2, ToDouble(y), 1e-6);
  ExpectClose(two.Backward(x, y), ToDouble(one.Backward(x, y)), 1e-5);
}

TEST_P(RecurrentLayer, LargeSumsSaturateAndNansShow) {
  Layer layer({RecurrentShape::Cell::kLstm, 1, 2, 1, 9}, NewBackend());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = layer.Forward({1e30f, nan});
  for (size_t j = 0; j < y.size(); ++j) {
    EXPECT_EQ(std::isnan(y[j]), j >= 9) << j;
    EXPECT_FALSE(std::abs(y[j]) > 1) << j;
  }
}

TEST_P(RecurrentLayer, ShapesThatDoNotFitAreNamed) {
  const std::unique_ptr<Backend> backend = NewBackend();
  RecurrentShape shape;
  shape.hidden = 3;
  for (const Shape& input : {Shape{2, 3}, Shape{2, 0, 3}, Shape{1, 2, 3, 4}}) {
    const absl::Status status =
        backend->sequences()
            .PlanRecurrent(shape, ActivationDesc::Plain(input))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), ShapeString(input)))
        << status;
  }
  shape.hidden = 0;
  EXPECT_EQ(backend->sequences()
                .PlanRecurrent(shape, ActivationDesc::Plain({2, 3, 4}))
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps
