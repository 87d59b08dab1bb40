// Whole jobs whose workers compute, compress and record CUDA graphs on an
// emulated device. All code is real except CUDA's own libraries and the
// launches of kernels (tests/ptx/device.h).
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tensor/cuda/cuda_info.h"
#include "tests/cluster/in_process_cluster.h"
#include "tests/cluster/test_process.h"
#include "tests/common/log_messages.h"
#include "worker/training_parts.h"
#ifdef PS_HAVE_CUDA
#include "tests/ptx/device.h"
#include "tests/tensor/cuda/emulated_libraries.h"
#endif

namespace ps {
namespace {

#ifndef PS_HAVE_CUDA
TEST(EmulatedCuda, Jobs) { GTEST_SKIP() << "built without CUDA"; }
#else

using testing::ContainsRegex;
using testing::HasSubstr;

class EmulatedCuda : public testing::Test {
 protected:
  ~EmulatedCuda() override {
    ptx::FailCallsAfter(-1, cudaSuccess);
    ptx::SetOrder(ptx::Order::kForward);
    InstallEmulatedCudnn(true);
  }
};

// A small job with several buckets, whose answers are checked by digests.
JobConfig CudaJob() {
  JobConfig job = SmallJob(2, 2);
  job.mutable_training()->set_max_iterations(6);
  job.mutable_training()->set_batch_size(4);
  job.mutable_training()->set_bucket_megabytes(0.05);
  job.mutable_data()->mutable_digits()->set_train_examples(48);
  job.mutable_data()->mutable_digits()->set_test_examples(8);
  job.mutable_machine()->set_device("cuda");
  job.mutable_machine()->set_workers_on_machine(2);
  job.mutable_consistency()->set_digest_every(2);
  return job;
}

JobConfig CompressedJob(const std::string& compressor) {
  JobConfig job = CudaJob();
  job.mutable_compressor()->set_name(compressor);
  job.mutable_compressor()->set_ratio(0.05);
  return job;
}

std::vector<float> WeightsOf(const JobConfig& job,
                             std::optional<bool> overlap = {}) {
  const ClusterRun run = RunCluster(job, "", overlap);
  EXPECT_TRUE(run.ok()) << run.workers[0].status();
  if (!run.ok()) return {};
  EXPECT_EQ(run.workers[0]->weights, run.workers[1]->weights);
  return run.workers[0]->weights;
}

std::vector<float> WeightsOnCpu(JobConfig job) {
  job.mutable_machine()->set_device("cpu");
  job.mutable_training()->clear_precision();
  return WeightsOf(job);
}

// The Euclidean norm of a - b over that of b.
double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  if (a.size() != b.size()) return 0;
  double squares = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(double{a[i]} - b[i], 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(squares / norm);
}

TEST_F(EmulatedCuda, ADenseJobTrainsAsOnTheCpu) {
  const JobConfig job = CudaJob();
  EXPECT_LT(Distance(WeightsOf(job), WeightsOnCpu(job)), 1e-5);
}

// A device's worker need not know who shares the host's cores, for which it
// would wait until all workers have come.
TEST_F(EmulatedCuda, OnlyWorkersOnTheCpuShareItsCores) {
  JobConfig job = CudaJob();
  job.mutable_machine()->set_worker_threads(0);
  for (const std::string device : {"cuda", "cpu"}) {
    SCOPED_TRACE(device);
    job.mutable_machine()->set_device(device);
    const LogMessages logged;
    WeightsOf(job);
    EXPECT_EQ(absl::c_count_if(logged.all(),
                               [](const std::string& message) {
                                 return absl::StrContains(
                                     message, "(machine.worker_threads)");
                               }),
              device == "cpu" ? 2 : 0);
  }
}

// Delta mode: the workers' own rules run on the device.
TEST_F(EmulatedCuda, WorkersOptimizersTrainAsOnTheCpu) {
  for (const std::string rule :
       {"sgd", "momentum", "nesterov", "adagrad", "adam"}) {
    SCOPED_TRACE(rule);
    JobConfig job = CompressedJob(rule == "sgd" ? "none" : "topk");
    job.clear_optimizer();
    job.mutable_worker_optimizer()->set_name(rule);
    job.mutable_worker_optimizer()->set_learning_rate(rule[0] == 'a' ? 1e-3
                                                                     : 0.05);
    job.mutable_worker_optimizer()->set_weight_decay(1e-4);
    job.mutable_consistency()->set_local_steps(2);
    EXPECT_LT(Distance(WeightsOf(job), WeightsOnCpu(job)), 1e-4);
    EXPECT_EQ(WeightsOf(job, /*overlap=*/false), WeightsOf(job, true));
  }
}

struct CompressedCase {
  std::string compressor;
  std::string value_code = "fp32";
  DownlinkConfig::Mode downlink = DownlinkConfig::WEIGHTS;
  std::string downlink_code = "fp32";
  ValueCodeConfig::IntegerCode integer_code = ValueCodeConfig::FIXED;
};

void PrintTo(const CompressedCase& c, std::ostream* out) {
  *out << c.compressor << " " << c.value_code << " "
       << DownlinkConfig::Mode_Name(c.downlink) << " " << c.downlink_code << " "
       << ValueCodeConfig::IntegerCode_Name(c.integer_code);
}

class CompressedJobs : public EmulatedCuda,
                       public testing::WithParamInterface<CompressedCase> {
 protected:
  JobConfig Job() const {
    JobConfig job = CompressedJob(GetParam().compressor);
    job.mutable_compressor()->set_value_code(GetParam().value_code);
    job.mutable_compressor()->mutable_values()->set_integer_code(
        GetParam().integer_code);
    job.mutable_downlink()->set_mode(GetParam().downlink);
    job.mutable_downlink()->set_value_code(GetParam().downlink_code);
    job.mutable_downlink()->mutable_compressor()->set_name("topk");
    job.mutable_downlink()->mutable_compressor()->set_ratio(0.05);
    return job;
  }
};

// The last bits of a gradient may decide which elements are sent.
TEST_P(CompressedJobs, TrainAsOnTheCpu) {
  EXPECT_LT(Distance(WeightsOf(Job()), WeightsOnCpu(Job())), 2e-2);
}

TEST_P(CompressedJobs, HaveTheSameBitsHoweverTheyRun) {
  const std::vector<float> weights = WeightsOf(Job());
  EXPECT_EQ(WeightsOf(Job()), weights) << "again";
  EXPECT_EQ(WeightsOf(Job(), /*overlap=*/false), weights)
      << "compressed between layers";
  ptx::SetOrder(ptx::Order::kBackward);
  EXPECT_EQ(WeightsOf(Job()), weights) << "threads in another order";
  JobConfig plain = Job();
  plain.mutable_machine()->set_cuda_graphs(false);
  EXPECT_EQ(WeightsOf(plain), weights) << "without CUDA graphs";
}

INSTANTIATE_TEST_SUITE_P(
    Compressors, CompressedJobs,
    testing::Values(
        CompressedCase{"none"}, CompressedCase{"none", "int8_block"},
        CompressedCase{"topk", "fp32", DownlinkConfig::WEIGHTS, "bf16"},
        CompressedCase{"sidco_e", "fp16"},
        CompressedCase{"sidco_gp", "fp32", DownlinkConfig::UPDATE},
        CompressedCase{"dgc", "bf16", DownlinkConfig::COMPRESSED},
        CompressedCase{"topk", "qsgdinf"}, CompressedCase{"topk", "alq"},
        CompressedCase{"none", "alq"},
        CompressedCase{"sidco_e", "qsgdinf", DownlinkConfig::WEIGHTS, "fp32",
                       ValueCodeConfig::ELIAS_GAMMA},
        CompressedCase{"none", "nuqsgd", DownlinkConfig::WEIGHTS, "fp32",
                       ValueCodeConfig::ELIAS_OMEGA},
        CompressedCase{"redsync"}, CompressedCase{"gaussiank", "int8_block"},
        CompressedCase{"randomk"}));

TEST_F(EmulatedCuda, TheSummaryCountsWhatWasRecorded) {
  JobConfig job = CudaJob();
  for (const bool records : {true, false}) {
    job.mutable_machine()->set_cuda_graphs(records);
    const std::string directory = NewTestDirectory();
    const ClusterRun run = RunCluster(job, directory);
    ASSERT_TRUE(run.ok()) << run.workers[0].status();
    const nlohmann::json graphs = nlohmann::json::parse(
        ReadFile(directory + "/summary.json").value())["cuda_graphs"];
    if (records) {
      EXPECT_GT(graphs["recorded"], 0);
    } else {
      EXPECT_EQ(graphs["recorded"], 0);
    }
    EXPECT_EQ(graphs["failed"], 0);
  }
}

TEST_F(EmulatedCuda, BfloatsTrainNearFloatsWithGraphsAndWithout) {
  JobConfig job = CompressedJob("topk");
  job.mutable_training()->set_precision(TrainingConfig::BF16);
  const std::vector<float> weights = WeightsOf(job);
  const double distance = Distance(weights, WeightsOnCpu(job));
  EXPECT_LT(distance, 0.1);
  EXPECT_GT(distance, 1e-5) << "computed with floats?";
  job.mutable_machine()->set_cuda_graphs(false);
  EXPECT_EQ(WeightsOf(job), weights);
}

TEST_F(EmulatedCuda, ConvolutionsAreCudnns) {
  const int64_t before = NumEmulatedConvolutions();
  JobConfig job = CudaJob();
  const std::vector<float> weights = WeightsOf(job);
  EXPECT_GT(NumEmulatedConvolutions(), before);
  EXPECT_LT(Distance(weights, WeightsOnCpu(job)), 1e-5);
  job.mutable_machine()->set_cuda_graphs(false);
  EXPECT_EQ(WeightsOf(job), weights) << "without CUDA graphs";
}

// There is no server that it could join.
TEST_F(EmulatedCuda, AWorkerWithoutCudnnEndsWhenItStarts) {
  InstallEmulatedCudnn(false);
  EXPECT_THAT(std::string(MakeTrainingParts(CudaJob(), 0).status().message()),
              HasSubstr("convolutions need cuDNN: cuDNN: "));
  JobConfig job = CudaJob();
  job.mutable_model()->set_name("mlp");
  const absl::Status status = MakeTrainingParts(job, 0).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(EmulatedCuda, ConvolutionsByCudnnTrainInBfloats) {
  JobConfig job = CompressedJob("sidco_e");
  job.mutable_training()->set_precision(TrainingConfig::BF16);
  const int64_t before = NumEmulatedConvolutions();
  const std::vector<float> weights = WeightsOf(job);
  EXPECT_GT(NumEmulatedConvolutions(), before);
  EXPECT_EQ(WeightsOf(job, /*overlap=*/false), weights);
  job.mutable_machine()->set_cuda_graphs(false);
  EXPECT_EQ(WeightsOf(job), weights) << "without CUDA graphs";
}

// Wherever the device fails, the job ends and says what failed.
TEST_F(EmulatedCuda, FailingDevicesEndTheJob) {
  JobConfig job = CompressedJob("sidco_e");
  job.mutable_cluster()->set_num_workers(1);
  job.mutable_machine()->set_workers_on_machine(1);
  const int64_t before = ptx::NumCalls();
  ASSERT_TRUE(RunCluster(job).ok());
  // The number of calls that every run makes at least: an answer that arrives
  // while gradients are still being computed needs one call less than a later
  // one.
  const int64_t calls = (ptx::NumCalls() - before) * 9 / 10;
  constexpr int kPlaces = 40;
  for (int place = 0; place < kPlaces; ++place) {
    const int64_t after = calls * place / kPlaces;
    SCOPED_TRACE(after);
    ptx::FailCallsAfter(static_cast<int>(after), cudaErrorIllegalAddress);
    const ClusterRun run = RunCluster(job);
    ptx::FailCallsAfter(-1, cudaSuccess);
    ASSERT_FALSE(run.workers[0].ok());
    // The name of the call and CUDA's error.
    EXPECT_THAT(
        std::string(run.workers[0].status().message()),
        ContainsRegex("[a-zA-Z]+.*: (an emulated error|CUBLAS_|CUDNN_)"));
  }
}

#endif  // PS_HAVE_CUDA

}  // namespace
}  // namespace ps
