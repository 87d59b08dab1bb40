// Softmax cross entropy, compared with its definition.

#include <cmath>
#include <limits>
#include <memory>
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

using SoftmaxCrossEntropy = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, SoftmaxCrossEntropy,
                         testing::ValuesIn(BackendNames()), BackendTestName);

std::unique_ptr<SoftmaxCrossEntropyOp> PlanLoss(Backend& backend,
                                                const Shape& shape) {
  auto op = backend.nn().PlanSoftmaxCrossEntropy(ActivationDesc::Plain(shape));
  EXPECT_TRUE(op.ok()) << op.status();
  return op.ok() ? *std::move(op) : nullptr;
}

TEST_P(SoftmaxCrossEntropy, EqualsItsDefinitionAndItsGradient) {
  const std::unique_ptr<Backend> backend = NewBackend();
  for (const Shape& shape :
       {Shape{1, 2}, Shape{5, 10}, Shape{3, 1}, Shape{2, 255}, Shape{2, 256},
        Shape{2, 257}, Shape{7, 1237}}) {
    const auto op = PlanLoss(*backend, shape);
    ASSERT_NE(op, nullptr);
    const std::vector<float> logits = RandomValues(NumElements(shape), 1);
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < shape[0]; ++i) labels.push_back(i % shape[1]);
    std::vector<float> gradient(logits.size());
    const auto result = op->Run(logits.data(), labels.data(), gradient.data());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(result->loss,
                ReferenceCrossEntropy(ToReference(shape, logits), labels),
                1e-6);
    FiniteDifferenceOptions options;
    options.name = "logits";
    options.step = 1e-4;
    options.tolerance = 1e-6;
    ExpectGradient(
        options,
        [&](const std::vector<double>& v) {
          return ReferenceCrossEntropy({shape, v}, labels);
        },
        logits, gradient);
  }
}

TEST_P(SoftmaxCrossEntropy, HugeLogitsDoNotOverflow) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = PlanLoss(*backend, {2, 2});
  ASSERT_NE(op, nullptr);
  const std::vector<float> logits = {3e38f, -3e38f, -3e38f, 3e38f};
  const std::vector<int32_t> labels = {0, 1};
  std::vector<float> gradient(4);
  const auto result = op->Run(logits.data(), labels.data(), gradient.data());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->loss, 0);
  EXPECT_EQ(gradient, std::vector<float>(4, 0));
}

TEST_P(SoftmaxCrossEntropy, CountsTheFirstOfTheLargestLogits) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = PlanLoss(*backend, {4, 3});
  ASSERT_NE(op, nullptr);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {1, 2,   0,  //
                                     2, 1,   2,  //
                                     2, 1,   2,  //
                                     0, nan, 0};
  // Correct; correct as the first of two; wrong as the second of two;
  // undefined.
  const std::vector<int32_t> labels = {1, 0, 2, 1};
  const auto result = op->Run(logits.data(), labels.data(), nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->correct, 2);
  EXPECT_TRUE(std::isnan(result->loss));
}

TEST_P(SoftmaxCrossEntropy, CountsLabelsAmongTheFiveLargest) {
  const std::unique_ptr<Backend> backend = NewBackend();
  constexpr int64_t kClasses = 300;
  const auto op = PlanLoss(*backend, {7, kClasses});
  ASSERT_NE(op, nullptr);
  // In example i, exactly i logits are larger than that of class 290: i / 2
  // before it and the others after it. Equal logits after it do not count.
  std::vector<float> logits(7 * kClasses, -1);
  for (int64_t i = 0; i < 7; ++i) {
    float* const row = &logits[i * kClasses];
    row[290] = row[298] = 1;
    for (int64_t j = 0; j < i; ++j) row[j < i / 2 ? 40 * j : 291 + j] = 2;
  }
  const std::vector<int32_t> labels(7, 290);
  std::vector<float> gradient(logits.size());
  const auto result = op->Run(logits.data(), labels.data(), gradient.data());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->correct, 1);
  EXPECT_EQ(result->correct_top5, 5);
  // The gradient may overwrite the logits.
  const auto in_place = op->Run(logits.data(), labels.data(), logits.data());
  ASSERT_TRUE(in_place.ok()) << in_place.status();
  EXPECT_EQ(in_place->loss, result->loss);
  EXPECT_EQ(in_place->correct_top5, 5);
  EXPECT_EQ(logits, gradient);
}

TEST_P(SoftmaxCrossEntropy, LabelThatIsNoClassIsRefusedByName) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = PlanLoss(*backend, {2, 3});
  ASSERT_NE(op, nullptr);
  const std::vector<float> logits(6);
  for (const int32_t bad : {-1, 3}) {
    const std::vector<int32_t> labels = {0, bad};
    const absl::Status status =
        op->Run(logits.data(), labels.data(), nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(
        absl::StrContains(status.message(), absl::StrCat("label ", bad)))
        << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "3 classes")) << status;
  }
}

TEST_P(SoftmaxCrossEntropy, LogitsMustBePlainMatrices) {
  const std::unique_ptr<Backend> backend = NewBackend();
  for (const Shape& shape : {Shape{3}, Shape{0, 3}, Shape{2, 3, 4}}) {
    const absl::Status status =
        backend->nn()
            .PlanSoftmaxCrossEntropy(ActivationDesc::Plain(shape))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

}  // namespace
}  // namespace ps
