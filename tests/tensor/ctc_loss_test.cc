// The CTC loss, compared with a sum over all paths, a closed form, and PyTorch.

#include "tensor/ctc_loss.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/safetensors.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"
#include "tests/tensor/finite_difference.h"
#include "tests/tensor/reference_ctc.h"

namespace ps {
namespace {

using CtcLoss = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, CtcLoss, testing::ValuesIn(BackendNames()),
                         BackendTestName);

// A batch's targets, and the memory they point to.
struct Targets {
  std::vector<int32_t> input_lengths;
  std::vector<std::vector<int32_t>> transcripts;

  std::vector<int32_t> labels;
  std::vector<int32_t> label_lengths;

  Targets(std::vector<int32_t> lengths, std::vector<std::vector<int32_t>> texts)
      : input_lengths(std::move(lengths)), transcripts(std::move(texts)) {
    for (const std::vector<int32_t>& text : transcripts) {
      labels.insert(labels.end(), text.begin(), text.end());
      label_lengths.push_back(static_cast<int32_t>(text.size()));
    }
  }

  CtcTargets view() const { return {input_lengths, labels, label_lengths}; }
};

std::unique_ptr<CtcLossOp> PlanLoss(Backend& backend, const Shape& shape) {
  auto op = backend.sequences().PlanCtcLoss(ActivationDesc::Plain(shape));
  EXPECT_TRUE(op.ok()) << op.status();
  return op.ok() ? *std::move(op) : nullptr;
}

double RunLoss(const std::unique_ptr<Backend>& backend, const Shape& shape,
               const std::vector<float>& logits, const CtcTargets& targets,
               std::vector<float>* gradient) {
  const auto op = PlanLoss(*backend, shape);
  if (gradient != nullptr) gradient->resize(logits.size());
  const auto loss = op->Run(logits.data(), targets,
                            gradient == nullptr ? nullptr : gradient->data());
  EXPECT_TRUE(loss.ok()) << loss.status();
  return loss.value_or(-1);
}

std::vector<float> RandomLogits(const Shape& shape, float scale) {
  std::vector<float> logits = RandomValues(NumElements(shape), 1);
  for (float& logit : logits) logit *= scale;
  return logits;
}

TEST_P(CtcLoss, EqualsTheSumOverAllPathsAndItsGradient) {
  // Repeated labels, empty transcripts, the longest that fit, and unused
  // frames.
  const Targets targets({5, 4, 3, 5, 2, 1, 1},
                        {{1, 2}, {2, 2}, {1, 2, 1}, {1, 1, 1}, {}, {}, {2}});
  const Shape shape = {5, 7, 3};
  const std::vector<float> logits = RandomLogits(shape, 2);
  std::vector<float> gradient;
  const double loss =
      RunLoss(NewBackend(), shape, logits, targets.view(), &gradient);
  const auto reference = [&](const std::vector<double>& values) {
    double sum = 0;
    for (size_t i = 0; i < targets.transcripts.size(); ++i) {
      sum += ReferenceCtcLoss({shape, values}, static_cast<int64_t>(i),
                              targets.input_lengths[i], targets.transcripts[i]);
    }
    return sum / 7;
  };
  EXPECT_NEAR(loss,
              reference(std::vector<double>(logits.begin(), logits.end())),
              1e-12);
  FiniteDifferenceOptions options;
  options.name = "logits";
  options.step = 1e-4;
  options.tolerance = 1e-6;
  ExpectGradient(options, reference, logits, gradient);
}

// tests/fixtures/make_ctc_fixture.py made the file.
TEST_P(CtcLoss, AgreesWithPytorch) {
  const auto file = ReadSafetensors("tests/fixtures/ctc_loss.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  std::map<std::string, SafetensorsTensor> tensors;
  for (const SafetensorsTensor& tensor : file->tensors) {
    tensors[tensor.name] = tensor;
  }
  const auto integers = [&](const std::string& name) {
    const std::vector<float>& values = tensors.at(name).values;
    return std::vector<int32_t>(values.begin(), values.end());
  };
  const std::vector<int32_t> input_lengths = integers("input_lengths");
  const std::vector<int32_t> labels = integers("labels");
  const std::vector<int32_t> label_lengths = integers("label_lengths");
  std::vector<float> gradient;
  const double loss = RunLoss(
      NewBackend(2), tensors.at("logits").shape, tensors.at("logits").values,
      {input_lengths, labels, label_lengths}, &gradient);
  double expected = 0;
  for (const float one : tensors.at("losses").values) expected += one / 4.0;
  EXPECT_NEAR(loss, expected, 1e-6 * expected);
  const std::vector<float>& theirs = tensors.at("gradient").values;
  ExpectClose(gradient, std::vector<double>(theirs.begin(), theirs.end()),
              1e-6);
}

TEST_P(CtcLoss, PathsFarBelowTheSmallestDoubleCount) {
  // Every frame prefers the blank by a factor of e^100, so that only paths with
  // exactly one frame for each label have a noticeable share.
  constexpr int kFrames = 300, kLabels = 12;
  const Shape shape = {kFrames, 1, kLabels + 1};
  std::vector<float> logits(NumElements(shape));
  for (int t = 0; t < kFrames; ++t) logits[t * (kLabels + 1)] = 100;
  std::vector<int32_t> transcript;
  for (int i = 1; i <= kLabels; ++i) transcript.push_back(i);
  const Targets targets({kFrames}, {transcript});
  std::vector<float> gradient;
  const double loss =
      RunLoss(NewBackend(), shape, logits, targets.view(), &gradient);
  const double log_paths = std::lgamma(kFrames + 1) - std::lgamma(kLabels + 1) -
                           std::lgamma(kFrames - kLabels + 1);
  EXPECT_NEAR(loss, 100 * kLabels - log_paths, 1e-9 * loss);
  // Each label has exactly one frame in every path.
  for (int i = 1; i <= kLabels; ++i) {
    double sum = 0;
    for (int t = 0; t < kFrames; ++t) sum += gradient[t * (kLabels + 1) + i];
    EXPECT_NEAR(sum, -1, 1e-5) << "label " << i;
  }
}

TEST_P(CtcLoss, HugeLogitsDoNotOverflow) {
  const Shape shape = {2, 1, 2};
  const std::vector<float> logits = {3e38f, -3e38f, 3e38f, -3e38f};
  const Targets empty({2}, {{}}), wrong({2}, {{1}});
  std::vector<float> gradient;
  EXPECT_EQ(RunLoss(NewBackend(), shape, logits, empty.view(), &gradient), 0);
  EXPECT_EQ(gradient, std::vector<float>(4, 0));
  EXPECT_NEAR(RunLoss(NewBackend(), shape, logits, wrong.view(), &gradient),
              6e38, 1e33);
  for (const float value : gradient) EXPECT_LE(std::abs(value), 1);
}

TEST_P(CtcLoss, FramesBeyondTheInputLengthCountForNothing) {
  const Targets targets({3, 5, 1}, {{1}, {2, 2}, {}});
  const Shape shape = {5, 3, 4}, longer = {9, 3, 4};
  const std::vector<float> logits = RandomLogits(shape, 2);
  std::vector<float> padded = logits;
  padded.resize(NumElements(longer));
  for (int t = 0; t < 9; ++t) {
    for (int b = 0; b < 3; ++b) {
      if (t < targets.input_lengths[b]) continue;
      for (int k = 0; k < 4; ++k) {
        padded[(t * 3 + b) * 4 + k] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
  std::vector<float> expected, gradient;
  EXPECT_EQ(RunLoss(NewBackend(), longer, padded, targets.view(), &gradient),
            RunLoss(NewBackend(), shape, logits, targets.view(), &expected));
  expected.resize(NumElements(longer));
  EXPECT_EQ(gradient, expected);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(gradient[(3 * 3 + 0) * 4 + k], 0);
}

TEST_P(CtcLoss, AnyNumberOfThreadsGivesTheSameBits) {
  const Targets targets({9, 8, 7, 6, 5},
                        {{1, 2, 3}, {4, 4}, {1}, {}, {2, 3, 2, 3}});
  const Shape shape = {9, 5, 5};
  const std::vector<float> logits = RandomLogits(shape, 2);
  std::vector<float> expected;
  const double loss =
      RunLoss(NewBackend(), shape, logits, targets.view(), &expected);
  for (const int num_threads : {2, 3, 8}) {
    std::vector<float> gradient;
    EXPECT_EQ(RunLoss(NewBackend(num_threads), shape, logits, targets.view(),
                      &gradient),
              loss);
    EXPECT_EQ(gradient, expected) << num_threads << " threads";
  }
}

TEST_P(CtcLoss, AnOperationRunsManyBatchesWithOrWithoutGradient) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const Shape shape = {6, 2, 3};
  const auto op = PlanLoss(*backend, shape);
  const std::vector<float> logits = RandomLogits(shape, 2);
  for (const Targets& targets :
       {Targets({6, 6}, {{1, 2, 1, 2, 1, 2}, {1}}), Targets({1, 2}, {{}, {2}}),
        Targets({6, 5}, {{1, 1}, {1, 2, 1, 2, 1}})}) {
    std::vector<float> expected, gradient(logits.size(), 7);
    const double fresh =
        RunLoss(NewBackend(), shape, logits, targets.view(), &expected);
    EXPECT_EQ(*op->Run(logits.data(), targets.view(), nullptr), fresh);
    EXPECT_EQ(*op->Run(logits.data(), targets.view(), gradient.data()), fresh);
    EXPECT_EQ(gradient, expected);
  }
}

TEST_P(CtcLoss, ALogitThatIsNotFiniteSpoilsItsExampleOnly) {
  const Targets targets({2, 2}, {{1}, {1}});
  const Shape shape = {3, 2, 2};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits(12, 0.5f), gradient;
    logits[5] = bad;  // Frame 1 of example 0.
    EXPECT_TRUE(std::isnan(
        RunLoss(NewBackend(), shape, logits, targets.view(), &gradient)));
    for (int i = 0; i < 12; ++i) {
      const int frame = i / 4, example = i % 4 / 2;
      EXPECT_EQ(std::isnan(gradient[i]), frame < 2 && example == 0)
          << "element " << i;
    }
  }
}

TEST_P(CtcLoss, ImpossibleTargetsAreRefusedByExample) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = PlanLoss(*backend, {4, 2, 3});
  const std::vector<float> logits(24);
  const auto expect_refused = [&](const CtcTargets& targets,
                                  const std::string& reason) {
    const absl::Status status =
        op->Run(logits.data(), targets, nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), reason)) << status;
  };
  const auto expect_transcripts_refused = [&](const Targets& targets,
                                              const std::string& reason) {
    expect_refused(targets.view(), reason);
  };
  expect_transcripts_refused(
      Targets({4, 3}, {{1, 2}, {1, 2, 2}}),
      "example 1 of the batch has a transcript of 3 labels, 1 of them "
      "repeated, which needs 4 frames; there are 3");
  expect_transcripts_refused(Targets({4, 5}, {{1}, {1}}),
                             "example 1 of the batch has 5 frames; must be 1 "
                             "to 4");
  expect_transcripts_refused(Targets({0, 4}, {{}, {1}}), "has 0 frames");
  for (const int32_t bad : {-1, 0, 3}) {
    expect_transcripts_refused(Targets({4, 4}, {{1}, {2, bad}}),
                               absl::StrCat("example 1 of the batch has label ",
                                            bad, "; must be 1 to 2"));
  }
  expect_transcripts_refused(Targets({4}, {{1}}), "a batch of 2");

  const std::vector<int32_t> input_lengths = {4, 4}, labels = {1, 2};
  std::vector<int32_t> label_lengths = {1, 2};
  expect_refused({input_lengths, labels, label_lengths},
                 "example 1 of the batch has 2 labels, of which 1 are there");
  label_lengths = {1, -1};
  expect_refused({input_lengths, labels, label_lengths}, "has -1 labels");
  label_lengths = {1, 0};
  expect_refused({input_lengths, labels, label_lengths},
                 "2 labels, but the lengths sum up to 1");
}

TEST_P(CtcLoss, LogitsMustHaveThreeExtentsAndTwoClasses) {
  const std::unique_ptr<Backend> backend = NewBackend();
  for (const Shape& shape :
       {Shape{3, 4}, Shape{0, 2, 3}, Shape{2, 0, 3}, Shape{2, 3, 1}}) {
    EXPECT_EQ(backend->sequences()
                  .PlanCtcLoss(ActivationDesc::Plain(shape))
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument)
        << ShapeString(shape);
  }
}

}  // namespace
}  // namespace ps
