#include "worker/gradient_pipeline.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "worker/worker_weights.h"

namespace ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kElements = 8;

// Servers that take pushes and never answer.
class SilentServers final : public ParameterClient {
 public:
  absl::Status Push(const BucketPush& push,
                    const std::vector<PayloadBuffer>& parts) override {
    for (const PayloadBuffer& part : parts) {
      std::vector<uint32_t> indices;
      std::vector<float> values;
      DecodePayload({part.span()}, &indices, &values);
      pushes.push_back(
          absl::StrCat("bucket ", push.bucket, ": ", values.size(), " values"));
    }
    return absl::OkStatus();
  }
  absl::Status PollAnswers(const AnswerHandler&) override {
    return absl::OkStatus();
  }
  absl::Status AwaitAnswers(const AnswerHandler&) override {
    return absl::OkStatus();
  }

  // A pipeline calls none of these.
  absl::StatusOr<int> WorkersOnTheseCores(bool) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<CommonSnapshots> FindSnapshots(
      const std::vector<int64_t>&, const std::vector<int64_t>&) override {
    return absl::UnimplementedError("");
  }
  absl::Status Restore(int64_t, bool) override {
    return absl::UnimplementedError("");
  }
  std::optional<int64_t> JoinsAt() const override { return {}; }
  absl::Status Join(int64_t, int64_t) override {
    return absl::UnimplementedError("");
  }
  absl::Status InitializeWeights(const std::vector<const float*>&) override {
    return absl::UnimplementedError("");
  }
  absl::Status PullWeights(int64_t, int64_t, const AnswerHandler&) override {
    return absl::UnimplementedError("");
  }
  void AskForPositions(int64_t, int, PositionsHandler) override {}
  absl::StatusOr<std::set<int64_t>> SaveSnapshot(int64_t,
                                                 std::set<int64_t>) override {
    return absl::UnimplementedError("");
  }
  StageExchange* stage_exchange() override { return nullptr; }
  absl::Status Stop() override { return absl::UnimplementedError(""); }
  absl::Status StartAgain(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::Status Finish(const absl::Status&, bool) override {
    return absl::UnimplementedError("");
  }

  std::vector<std::string> pushes;
};

class GradientPipelineTest : public testing::Test {
 protected:
  GradientPipelineTest() {
    config_.mutable_compressor()->set_name("topk");
    config_.mutable_compressor()->set_ratio(0.25);
    config_.mutable_training()->set_non_finite(TrainingConfig::SKIP);
    ShardMapOptions shards;
    shards.bucket_sizes = {4, 4};
    shards.num_servers = 1;
    shards.max_slice_elements = 1 << 20;
    map_ = std::make_unique<ShardMap>(ShardMap::Create(shards).value());
  }

  std::unique_ptr<GradientPipeline> Make(WorkerWeights* own = nullptr) {
    WorkerContext context;
    context.config = &config_;
    context.buckets = {{4, 8}, {0, 4}};
    context.shard_map = map_.get();
    context.backend = backend_.get();
    context.client = &servers_;
    context.own_weights = own;
    GradientPipelineOptions options;
    options.parameters = {{"a", {4}, 0}, {"b", {4}, 4}};
    return GradientPipeline::Create(context, options).value();
  }

  Tensor TensorOf(const std::vector<float>& values) {
    Tensor tensor = backend_->Allocate({kElements}).value();
    EXPECT_TRUE(backend_->CopyFromHost(values.data(), &tensor).ok());
    return tensor;
  }

  // Makes one iteration, in which the later layer's bucket is ready first.
  absl::Status Iterate(GradientPipeline* pipeline, int64_t push,
                       const std::vector<float>& gradient) {
    servers_.pushes.clear();
    pipeline->Begin(push, TensorOf(gradient), weights_);
    absl::Status status = pipeline->Ready(1, 4);
    status.Update(pipeline->Ready(1, 0));
    if (!status.ok()) return status;
    return pipeline->Await().status();
  }

  JobConfig config_;
  const std::unique_ptr<Backend> backend_ =
      NewCpuBackend(CpuBackendOptions()).value();
  const Tensor weights_ = TensorOf(std::vector<float>(kElements));
  std::unique_ptr<ShardMap> map_;
  SilentServers servers_;
};

const std::vector<float> kGradient = {1, 2, 3, 4, 5, 6, 7, 8};

// The early layer's gradient overflows after the later one's was ready.
TEST_F(GradientPipelineTest, LeavesOutAllBucketsOfAGradientThatIsNotFinite) {
  const auto pipeline = Make();
  ASSERT_TRUE(Iterate(pipeline.get(), 0, kGradient).ok());
  EXPECT_THAT(servers_.pushes,
              ElementsAre("bucket 0: 1 values", "bucket 1: 1 values"));
  const double norm = pipeline->residuals()->Norm().value();
  EXPECT_DOUBLE_EQ(norm, std::sqrt(1 + 4 + 9 + 25 + 36 + 49));
  for (const float bad : {HUGE_VALF, std::nanf("")}) {
    std::vector<float> gradient = kGradient;
    gradient[1] = bad;
    ASSERT_TRUE(Iterate(pipeline.get(), 1, gradient).ok());
    EXPECT_THAT(servers_.pushes,
                ElementsAre("bucket 0: 0 values", "bucket 1: 0 values"));
    EXPECT_EQ(pipeline->residuals()->Norm().value(), norm);
  }
  ASSERT_TRUE(Iterate(pipeline.get(), 3, kGradient).ok());
  EXPECT_THAT(servers_.pushes,
              ElementsAre("bucket 0: 1 values", "bucket 1: 1 values"));
}

// Between pushes, in delta mode.
TEST_F(GradientPipelineTest, ALocalStepWithoutAFiniteGradientLeavesNoTrace) {
  config_.mutable_worker_optimizer()->set_name("sgd");
  config_.mutable_worker_optimizer()->set_learning_rate(0.5);
  config_.mutable_consistency()->set_local_steps(4);
  WorkerWeightsOptions options;
  options.config = &config_;
  options.num_parameters = kElements;
  options.total_iterations = 10;
  options.backend = backend_.get();
  const auto own = WorkerWeights::Create(options).value();
  const auto pipeline = Make(own.get());
  own->Begin(0);
  Tensor good = TensorOf(kGradient);
  ASSERT_TRUE(pipeline->StepLocally(&good).ok());
  const auto values = [&own] {
    const Tensor& y = own->values();
    return std::vector<float>(y.data(), y.data() + y.size());
  };
  const std::vector<float> before = values();
  EXPECT_FLOAT_EQ(std::fabs(before[3]), 0.5f * kGradient[3]);
  const double norm = pipeline->residuals()->Norm().value();
  EXPECT_GT(norm, 0);
  own->Begin(1);
  std::vector<float> gradient = kGradient;
  gradient[6] = std::nanf("");
  Tensor bad = TensorOf(gradient);
  ASSERT_TRUE(pipeline->StepLocally(&bad).ok());
  EXPECT_EQ(values(), before);
  EXPECT_EQ(pipeline->residuals()->Norm().value(), norm);
}

TEST_F(GradientPipelineTest, EndsWhenNoGradientIsFinite) {
  const auto pipeline = Make();
  std::vector<float> gradient = kGradient;
  gradient[7] = HUGE_VALF;
  for (int push = 0; push < 99; ++push) {
    ASSERT_TRUE(Iterate(pipeline.get(), push, gradient).ok()) << push;
  }
  EXPECT_THAT(std::string(Iterate(pipeline.get(), 99, gradient).message()),
              HasSubstr("nor are the 99 before it: training has diverged"));
}

TEST_F(GradientPipelineTest, EndsWhenItMayNotLeaveOut) {
  config_.mutable_training()->set_non_finite(TrainingConfig::FAIL);
  const auto pipeline = Make();
  std::vector<float> gradient = kGradient;
  gradient[0] = HUGE_VALF;
  EXPECT_THAT(std::string(Iterate(pipeline.get(), 5, gradient).message()),
              HasSubstr("is not finite in push 5; lower optimizer."));
}

}  // namespace
}  // namespace ps
