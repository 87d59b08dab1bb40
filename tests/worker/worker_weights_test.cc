#include "worker/worker_weights.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/config.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kElements = 10000;

JobConfig JobWith(const std::string& rule) {
  JobConfig job;
  job.mutable_worker_optimizer()->set_name(rule);
  job.mutable_worker_optimizer()->set_learning_rate(0.1);
  return job;
}

class WorkerWeightsTest : public testing::Test {
 protected:
  std::unique_ptr<WorkerWeights> Make(const JobConfig& job) {
    jobs_.push_back(std::make_unique<JobConfig>(job));
    WorkerWeightsOptions options;
    options.config = jobs_.back().get();
    options.num_parameters = kElements;
    options.total_iterations = 100;
    options.backend = backend_.get();
    return WorkerWeights::Create(options).value();
  }
  Tensor TensorOf(const std::vector<float>& values) {
    Tensor tensor =
        backend_->Allocate({static_cast<int64_t>(values.size())}).value();
    EXPECT_TRUE(backend_->CopyFromHost(values.data(), &tensor).ok());
    return tensor;
  }
  Tensor Gradient(uint64_t seed) {
    return TensorOf(MakeVector("laplace", kElements, seed));
  }
  std::vector<float> Values(const Tensor& tensor) {
    return std::vector<float>(tensor.data(), tensor.data() + tensor.size());
  }

  std::vector<std::unique_ptr<JobConfig>> jobs_;
  const std::unique_ptr<Backend> backend_ =
      NewCpuBackend({/*num_threads=*/2}).value();
};

class StepAheadTest : public WorkerWeightsTest,
                      public testing::WithParamInterface<double> {};

INSTANTIATE_TEST_SUITE_P(Shares, StepAheadTest,
                         testing::Values(0, 0.25, 1 / 3.0, 1));

// In units of weights, for every compressor: the worker's weights are the
// servers' minus a share of what is sent and what remains, and stay the
// servers' minus this share of the residual, however long it goes on.
TEST_P(StepAheadTest, StayTheServersMinusTheResidual) {
  const double ahead = GetParam();
  for (const std::string& name : CompressorRegistry().Names()) {
    SCOPED_TRACE(name);
    JobConfig job = JobWith("momentum");
    job.mutable_worker_optimizer()->set_step_ahead(ahead);
    const std::unique_ptr<WorkerWeights> own = Make(job);
    ASSERT_TRUE(own->can_follow_at());
    CompressorOptions options;
    options.config.set_name(name);
    options.config.set_ratio(0.01);
    options.dense_size = kElements;
    options.backend = backend_.get();
    const auto compressor = NewCompressor(options).value();
    Tensor x = TensorOf(MakeVector("gaussian", kElements, 1));
    Tensor residual = backend_->Allocate({kElements}).value();
    ASSERT_TRUE(own->Follow(0, x, residual).ok());
    EXPECT_EQ(Values(own->values()), Values(x));
    for (int i = 0; i < 30; ++i) {
      Tensor steps = Gradient(100 + i);
      own->Begin(i);
      ASSERT_TRUE(own->Step(0, kElements, &steps).ok());
      std::vector<float> difference(kElements);
      for (int64_t k = 0; k < kElements; ++k) {
        difference[k] = x.data()[k] - own->values().data()[k];
      }
      const EncodedGradient encoded =
          compressor->Compress(steps, &residual).value();
      std::vector<float> sent(kElements);
      AddPayload({encoded.parts[0].span()}, sent.data());
      std::vector<uint32_t> indices;
      for (int64_t k = 0; k < kElements; ++k) {
        ASSERT_NEAR(difference[k], ahead * (sent[k] + residual.data()[k]),
                    1e-4);
        if (sent[k] == 0) continue;
        indices.push_back(static_cast<uint32_t>(k));
        x.data()[k] -= sent[k];
      }
      // Both ways of following lead to the same weights, but for rounding.
      if (i % 2 == 0) {
        own->FollowAt(indices, 0, x, residual);
      } else {
        ASSERT_TRUE(own->Follow(0, x, residual).ok());
      }
      for (int64_t k = 0; k < kElements; ++k) {
        ASSERT_NEAR(own->values().data()[k],
                    x.data()[k] - ahead * residual.data()[k], 1e-4);
      }
    }
  }
}

// A worker's steps between two pushes are whole ones, and only what it has not
// sent afterwards counts less.
TEST_F(WorkerWeightsTest, LocalStepsAreWhole) {
  JobConfig job = JobWith("sgd");
  job.mutable_worker_optimizer()->set_step_ahead(0.5);
  job.mutable_consistency()->set_local_steps(4);
  const std::unique_ptr<WorkerWeights> own = Make(job);
  EXPECT_FALSE(own->can_follow_at());
  Tensor steps = Gradient(7);
  own->Begin(0);
  ASSERT_TRUE(own->Step(0, kElements, &steps).ok());
  for (int64_t k = 0; k < kElements; ++k) {
    ASSERT_EQ(own->values().data()[k], -steps.data()[k]);
  }
}

TEST_F(WorkerWeightsTest, ClipsTheGradientToItsNorm) {
  JobConfig job = JobWith("sgd");
  job.mutable_worker_optimizer()->set_clip_norm(2);
  const auto own = Make(job);
  Tensor steps = Gradient(1);
  const auto norm = [this, &steps] {
    double squares = 0;
    for (const float step : Values(steps)) squares += double{step} * step;
    return std::sqrt(squares);
  };
  own->Begin(0);
  own->Clip(norm());
  ASSERT_TRUE(own->Step(0, kElements, &steps).ok());
  EXPECT_NEAR(norm(), 0.1 * 2, 1e-5);
}

// Pieces and threads change no bit.
TEST_F(WorkerWeightsTest, StepsAreTheSameInPieces) {
  const auto whole = Make(JobWith("adam"));
  const auto pieces = Make(JobWith("adam"));
  for (int i = 0; i < 3; ++i) {
    Tensor a = Gradient(i);
    Tensor b = Gradient(i);
    whole->Begin(i);
    pieces->Begin(i);
    ASSERT_TRUE(whole->Step(0, kElements, &a).ok());
    ASSERT_TRUE(pieces->Step(5001, kElements, &b).ok());
    ASSERT_TRUE(pieces->Step(0, 5001, &b).ok());
    EXPECT_EQ(Values(a), Values(b));
  }
  EXPECT_EQ(Values(whole->values()), Values(pieces->values()));
}

TEST_F(WorkerWeightsTest, GoOnFromTheirSavedState) {
  for (const std::string rule : {"sgd", "nesterov", "adamw", "adagrad"}) {
    SCOPED_TRACE(rule);
    const auto first = Make(JobWith(rule));
    Tensor steps = Gradient(1);
    first->Begin(0);
    ASSERT_TRUE(first->Step(0, kElements, &steps).ok());
    const auto second = Make(JobWith(rule));
    ASSERT_TRUE(second->LoadState(first->SaveState().value()).ok());
    Tensor a = Gradient(2);
    Tensor b = Gradient(2);
    first->Begin(1);
    second->Begin(1);
    ASSERT_TRUE(first->Step(0, kElements, &a).ok());
    ASSERT_TRUE(second->Step(0, kElements, &b).ok());
    EXPECT_EQ(Values(first->values()), Values(second->values()));
  }
}

TEST_F(WorkerWeightsTest, RefuseAnotherState) {
  const auto own = Make(JobWith("momentum"));
  Tensor steps = Gradient(1);
  own->Begin(0);
  ASSERT_TRUE(own->Step(0, kElements, &steps).ok());
  const std::string state = own->SaveState().value();
  EXPECT_TRUE(absl::IsDataLoss(own->LoadState("nothing")));
  EXPECT_TRUE(
      absl::IsDataLoss(own->LoadState(state.substr(0, state.size() - 1))));
  const absl::Status other =
      own->LoadState(Make(JobWith("adam"))->SaveState().value());
  EXPECT_TRUE(absl::IsDataLoss(other));
  EXPECT_THAT(std::string(other.message()),
              testing::HasSubstr(
                  "optimizer \"adam\" with 10000 parameters for \"momentum\""));
  EXPECT_EQ(own->SaveState().value(), state);
}

}  // namespace
}  // namespace ps
