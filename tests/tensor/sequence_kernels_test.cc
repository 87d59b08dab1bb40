// Embedding, and the linear layer applied at every step, compared with their
// definitions.

#include "tensor/sequence_kernels.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"
#include "tests/tensor/finite_difference.h"
#include "tests/tensor/reference_ops.h"

namespace ps {
namespace {

using Embedding = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, Embedding, testing::ValuesIn(BackendNames()),
                         BackendTestName);

using SequenceLinear = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, SequenceLinear,
                         testing::ValuesIn(BackendNames()), BackendTestName);

constexpr int64_t kRows = 5;

std::unique_ptr<EmbeddingOp> PlanEmbedding(Backend& backend,
                                           const Shape& tokens,
                                           int64_t features) {
  EmbeddingShape shape;
  shape.num_rows = kRows;
  shape.features = features;
  auto op =
      backend.sequences().PlanEmbedding(shape, ActivationDesc::Plain(tokens));
  EXPECT_TRUE(op.ok()) << op.status();
  return op.ok() ? *std::move(op) : nullptr;
}

TEST_P(Embedding, TakesRowsAndAddsTheirGradientsToWhatIsThere) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = PlanEmbedding(*backend, {2, 3}, 2);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->output().shape, (Shape{2, 3, 2}));
  const std::vector<float> tokens = {4, 0, 2, 4, 4, 0};
  const std::vector<float> table = {0, 1, 10, 11, 20, 21, 30, 31, 40, 41};
  std::vector<float> y(12);
  ASSERT_TRUE(op->Forward(tokens.data(), table.data(), y.data()).ok());
  EXPECT_EQ(y, (std::vector<float>{40, 41, 0, 1, 20, 21,  //
                                   40, 41, 40, 41, 0, 1}));
  const std::vector<float> dy = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<float> dtable(10, 100);
  ASSERT_TRUE(op->AddGradient(dy.data(), dtable.data()).ok());
  EXPECT_EQ(dtable, (std::vector<float>{114, 116, 100, 100, 105, 106, 100, 100,
                                        117, 120}));
}

TEST_P(Embedding, RepeatedTokensAreAddedInOrderByAnyNumberOfThreads) {
  const std::vector<float> tokens(40, 3);
  const std::vector<float> dy = RandomValues(40 * 300, 1);
  std::vector<float> expected(kRows * 300);
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j < 300; ++j) expected[3 * 300 + j] += dy[i * 300 + j];
  }
  const std::vector<float> table(kRows * 300);
  for (const int num_threads : {1, 2, 3}) {
    const std::unique_ptr<Backend> backend = NewBackend(num_threads);
    const auto op = PlanEmbedding(*backend, {10, 4}, 300);
    ASSERT_NE(op, nullptr);
    std::vector<float> y(dy.size()), dtable(expected.size());
    ASSERT_TRUE(op->Forward(tokens.data(), table.data(), y.data()).ok());
    ASSERT_TRUE(op->AddGradient(dy.data(), dtable.data()).ok());
    EXPECT_EQ(dtable, expected) << num_threads << " threads";
  }
}

TEST_P(Embedding, TokensThatAreNoRowAreRefused) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = PlanEmbedding(*backend, {1, 2}, 1);
  ASSERT_NE(op, nullptr);
  const std::vector<float> table(kRows);
  std::vector<float> y(2);
  for (const float bad :
       {-1.0f, 5.0f, 0.5f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<float> tokens = {0, bad};
    const absl::Status status =
        op->Forward(tokens.data(), table.data(), y.data());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_TRUE(absl::StrContains(status.message(), "position 1")) << status;
  }
}

TEST_P(Embedding, TheFirstTokenThatIsNoRowIsNamed) {
  const std::unique_ptr<Backend> backend = NewBackend();
  constexpr int64_t kTokens = 700;
  const auto op = PlanEmbedding(*backend, {1, kTokens}, 1);
  ASSERT_NE(op, nullptr);
  const std::vector<float> table(kRows);
  std::vector<float> y(kTokens);
  for (const int64_t first : {0, 255, 256, 300, 699}) {
    std::vector<float> tokens(kTokens, 1);
    for (int64_t i = first; i < kTokens; i += 128) tokens[i] = 77;
    const absl::Status status =
        op->Forward(tokens.data(), table.data(), y.data());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(
        status.message(), absl::StrCat("token 77 at position ", first, ";")))
        << status;
  }
}

TEST_P(Embedding, ShapesThatDoNotFitAreNamed) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto plan = [&](int64_t rows, int64_t features, const Shape& tokens) {
    EmbeddingShape shape;
    shape.num_rows = rows;
    shape.features = features;
    return backend->sequences()
        .PlanEmbedding(shape, ActivationDesc::Plain(tokens))
        .status()
        .code();
  };
  EXPECT_EQ(plan(3, 4, {2, 2}), absl::StatusCode::kOk);
  EXPECT_EQ(plan(0, 4, {2, 2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(plan(3, 0, {2, 2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(plan((1 << 24) + 1, 4, {2, 2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(plan(3, 4, {2, 0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(plan(3, 4, {4}), absl::StatusCode::kInvalidArgument);
}

TEST_P(SequenceLinear, EqualsItsDefinitionForwardAndBackward) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const Shape shape = {4, 3, 5};
  constexpr int64_t kOut = 7;
  const auto op = backend->sequences().PlanSequenceLinear(
      kOut, ActivationDesc::Plain(shape));
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ((*op)->output().shape, (Shape{4, 3, kOut}));
  const std::vector<float> x = RandomValues(60, 1);
  const std::vector<float> weight = RandomValues(kOut * 5, 2);
  const std::vector<float> bias = RandomValues(kOut, 3);
  const std::vector<float> dy = RandomValues(12 * kOut, 4);
  const auto reference = [](const std::vector<double>& x,
                            const std::vector<double>& weight,
                            const std::vector<double>& bias) {
    return ReferenceLinear({{12, 5}, x}, weight, bias).values;
  };
  const std::vector<double> x0(x.begin(), x.end());
  const std::vector<double> weight0(weight.begin(), weight.end());
  const std::vector<double> bias0(bias.begin(), bias.end());
  std::vector<float> y(12 * kOut);
  ASSERT_TRUE(
      (*op)->Forward(x.data(), weight.data(), bias.data(), y.data()).ok());
  ExpectClose(y, reference(x0, weight0, bias0), 1e-5);

  std::vector<float> dx(x.size(), 1e30f), dweight(weight.size(), 1e30f);
  std::vector<float> dbias(bias.size(), 1e30f);
  ASSERT_TRUE((*op)
                  ->Backward(x.data(), weight.data(), dy.data(), dx.data(),
                             dweight.data(), dbias.data())
                  .ok());
  FiniteDifferenceOptions options;
  options.step = 0.5;  // Exact with any step.
  options.tolerance = 1e-5;
  options.name = "x";
  ExpectGradient(
      options,
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(v, weight0, bias0));
      },
      x, dx);
  options.name = "weight";
  ExpectGradient(
      options,
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(x0, v, bias0));
      },
      weight, dweight);
  options.name = "bias";
  ExpectGradient(
      options,
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(x0, weight0, v));
      },
      bias, dbias);
}

TEST_P(SequenceLinear, ShapesThatDoNotFitAreNamed) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto plan = [&](int64_t out, const Shape& input) {
    return backend->sequences()
        .PlanSequenceLinear(out, ActivationDesc::Plain(input))
        .status();
  };
  const absl::Status status = plan(3, {2, 5});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "[2, 5]")) << status;
  EXPECT_EQ(plan(0, {2, 5, 4}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(plan(3, {2, 5, 0}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps
