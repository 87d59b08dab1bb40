// Workers that have one stage each, against one worker that has all of them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/config.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/transport/local_exchanges.h"
#include "tests/worker/layer_parallel/small_job.h"
#include "worker/layer_parallel/stage_links.h"
#include "worker/training_parts.h"

namespace ps {
namespace {

// The part of one worker in a training whose weights the test has.
class Worker {
 public:
  Worker(const JobConfig& job, int rank) : rank_(rank) {
    auto parts = MakeTrainingParts(job, rank);
    CHECK(parts.ok()) << parts.status();
    parts_ = *std::move(parts);
    gradient_ = *parts_.backend->Allocate({parts_.model->num_parameters()});
  }

  absl::Status Step(int64_t iteration, const Tensor& weights) {
    Sampler& sampler = parts_.plan->sampler;
    Batch batch;
    batch.random_key = RandomKey(static_cast<uint64_t>(iteration));
    PS_RETURN_IF_ERROR(parts_.data.train->Read(
        sampler.Numbers(iteration, parts_.plan->ReaderRank(rank_)),
        iteration / sampler.iterations_per_epoch(), &batch));
    // Every element must be written, those of other stages too.
    std::fill(gradient_.data(), gradient_.data() + gradient_.size(), 7.0f);
    PS_ASSIGN_OR_RETURN(result_, parts_.model->ForwardBackward(
                                     batch, weights, &gradient_, nullptr));
    return absl::OkStatus();
  }

  TrainingParts& parts() { return parts_; }
  const BatchResult& result() const { return result_; }
  const float* gradient() const { return gradient_.data(); }
  int64_t num_parameters() const { return gradient_.size(); }
  std::vector<float> statistics() const {
    const Tensor& values = parts_.model->statistics_values();
    return {values.data(), values.data() + values.size()};
  }

 private:
  const int rank_;
  TrainingParts parts_;
  Tensor gradient_;
  BatchResult result_;
};

// A worker for each stage.
class Workers {
 public:
  explicit Workers(const JobConfig& job)
      : exchanges_(job.cluster().num_workers()) {
    for (int rank = 0; rank < job.cluster().num_workers(); ++rank) {
      workers_.push_back(std::make_unique<Worker>(job, rank));
      workers_.back()->parts().stage_links->Connect(exchanges_.For(rank));
    }
  }

  int size() const { return static_cast<int>(workers_.size()); }
  Worker& worker(int rank) { return *workers_[rank]; }
  LocalExchanges& exchanges() { return exchanges_; }

  // Worker `without` does not take part.
  std::vector<absl::Status> Step(int64_t iteration, const Tensor& weights,
                                 int without = -1) {
    std::vector<absl::Status> results(size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank) {
      if (rank == without) continue;
      threads.emplace_back([&, rank] {
        results[rank] = workers_[rank]->Step(iteration, weights);
      });
    }
    if (without >= 0) {
      exchanges_.Fail(absl::AbortedError("worker is lost"));
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  void Resume(const Workers& other) {
    for (int rank = 0; rank < size(); ++rank) {
      Model& from = *other.workers_[rank]->parts().model;
      Model& to = *workers_[rank]->parts().model;
      Tensor& statistics = to.statistics_values();
      std::copy_n(from.statistics_values().data(), statistics.size(),
                  statistics.data());
      const auto state = from.SaveState();
      CHECK(state.ok());
      CHECK(to.LoadState(*state).ok());
    }
  }

 private:
  LocalExchanges exchanges_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// Both have the same batches.
struct Jobs {
  explicit Jobs(const JobConfig& job) : one(job), many(job) {
    const int stages = job.training().layer_parallel().stages();
    many.mutable_cluster()->set_num_workers(stages);
    many.mutable_training()->set_batch_size(12 / stages);
    one.mutable_training()->set_batch_size(12);
  }
  JobConfig one;
  JobConfig many;
};

// Trains by the gradient of the first, and compares that of the others.
void ExpectTheSame(const Jobs& jobs, bool resumes) {
  Worker one(jobs.one, 0);
  auto many = std::make_unique<Workers>(jobs.many);
  ASSERT_EQ(ValidateConfig(jobs.many), absl::OkStatus());
  const int64_t n = one.num_parameters();
  Tensor weights = *one.parts().backend->Allocate({n});
  one.parts().model->InitializeWeights(1, weights.data());
  const int64_t iterations = one.parts().plan->total_iterations;
  ASSERT_EQ(many->worker(0).parts().plan->total_iterations, iterations);
  const auto size = static_cast<float>(many->size());
  for (int64_t i = 0; i < iterations; ++i) {
    if (resumes) {
      auto fresh = std::make_unique<Workers>(jobs.many);
      fresh->Resume(*many);
      many = std::move(fresh);
    }
    ASSERT_EQ(one.Step(i, weights), absl::OkStatus());
    for (const absl::Status& result : many->Step(i, weights)) {
      ASSERT_EQ(result, absl::OkStatus()) << i;
    }
    double loss = 0;
    int64_t examples = 0;
    std::vector<float> sum(n);
    for (int rank = 0; rank < many->size(); ++rank) {
      const Worker& worker = many->worker(rank);
      loss += worker.result().loss;
      examples += worker.result().examples;
      for (int64_t j = 0; j < n; ++j) sum[j] += worker.gradient()[j];
      ASSERT_EQ(worker.statistics(), one.statistics()) << i;
    }
    EXPECT_EQ(loss, size * one.result().loss) << i;
    EXPECT_EQ(examples, one.result().examples);
    for (int64_t j = 0; j < n; ++j) {
      // Each element comes from one worker, and the rest are zeros.
      ASSERT_EQ(sum[j], size * one.gradient()[j]) << i << " " << j;
      weights.data()[j] -= 0.05f * one.gradient()[j];
    }
  }
}

TEST(StagedWorkers, HaveTheBitsOfOneWorkerWithAllStages) {
  for (const int stages : {2, 3}) {
    for (const auto method : {LayerParallelConfig::PENALTY,
                              LayerParallelConfig::AUGMENTED_LAGRANGIAN}) {
      for (const auto wire :
           {LayerParallelConfig::FP32, LayerParallelConfig::FP16}) {
        SCOPED_TRACE(testing::Message()
                     << stages << " " << method << " " << wire);
        JobConfig job = SmallJob();
        Section(&job)->set_stages(stages);
        Section(&job)->set_method(method);
        Section(&job)->set_wire_format(wire);
        ExpectTheSame(Jobs(job), /*resumes=*/false);
      }
    }
  }
}

TEST(StagedWorkers, GoOnFromSnapshotsWithTheSameBits) {
  JobConfig job = SmallJob();
  Section(&job)->set_method(LayerParallelConfig::AUGMENTED_LAGRANGIAN);
  ExpectTheSame(Jobs(job), /*resumes=*/true);
}

TEST(StagedWorkers, AuxiliaryNetworksAndFiltersWorkTheSame) {
  JobConfig job = SmallJob();
  Section(&job)->set_stages(2);
  Section(&job)->add_cut_before("block2");
  Section(&job)->mutable_aux_network();
  ExpectTheSame(Jobs(job), /*resumes=*/true);

  JobConfig filtered = SmallJob();
  // Cuts of 28 x 28.
  filtered.mutable_model()
      ->mutable_layers()
      ->mutable_layer(0)
      ->mutable_convolution()
      ->set_stride(1);
  Section(&filtered)->set_filter_extent(2);
  ExpectTheSame(Jobs(filtered), /*resumes=*/false);
}

TEST(StagedWorkers, AStepEndsWhenAnotherWorkerIsLost) {
  JobConfig job = SmallJob();
  const Jobs jobs(job);
  for (const int64_t lost_at : {0, 5, 9}) {  // Serial, recording, parallel.
    for (int without = 0; without < 3; ++without) {
      Workers workers(jobs.many);
      Tensor weights = *workers.worker(0).parts().backend->Allocate(
          {workers.worker(0).num_parameters()});
      workers.worker(0).parts().model->InitializeWeights(1, weights.data());
      for (int64_t i = 0; i < lost_at; ++i) workers.Step(i, weights);
      const std::vector<absl::Status> results =
          workers.Step(lost_at, weights, without);
      int num_aborted = 0;
      for (int rank = 0; rank < 3; ++rank) {
        // One that had all that it needed may have been faster.
        if (rank == without || results[rank].ok()) continue;
        EXPECT_EQ(results[rank], absl::AbortedError("worker is lost"));
        ++num_aborted;
      }
      EXPECT_GT(num_aborted, 0);
    }
  }
}

TEST(StagedWorkers, AnotherStagesSnapshotIsRefused) {
  const Jobs jobs(SmallJob());
  Worker first(jobs.many, 0);
  Worker second(jobs.many, 1);
  const auto state = first.parts().model->SaveState();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(second.parts().model->LoadState(*state),
            absl::DataLossError("a snapshot of a worker with stages 0 to 0; "
                                "this one has 1 to 1"));
  Worker alone(jobs.one, 0);
  EXPECT_EQ(alone.parts().model->LoadState(*state).code(),
            absl::StatusCode::kDataLoss);
}

TEST(StageLinks, GatherValuesOfAllInOrder) {
  LocalExchanges exchanges(3);
  std::vector<std::vector<float>> all(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      StageLinks links(rank, 3);
      links.Connect(exchanges.For(rank));
      for (int round = 0; round < 2; ++round) {
        // Worker 0 has none, 1 has one, 2 has two.
        const std::vector<float> own(rank, static_cast<float>(rank + round));
        const auto gathered = links.Gather(own, 2);
        CHECK(gathered.ok()) << gathered.status();
        all[rank] = *gathered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& values : all) {
    EXPECT_EQ(values, std::vector<float>({2, 3, 3}));
  }
}

// Another worker's number decides neither memory nor what is written.
TEST(StageLinks, RefuseMoreValuesThanAWorkerCanHave) {
  for (const float count : {3.0f, 1e30f, -1.0f, std::nanf("")}) {
    LocalExchanges exchanges(2);
    StageLinks links(0, 2);
    links.Connect(exchanges.For(0));
    // Counts travel in the third stream.
    ASSERT_TRUE(exchanges.For(1)->Put(0, 2, 0, {&count, 1}).ok());
    const auto gathered = links.Gather({1, 2}, 2);
    EXPECT_EQ(gathered.status().code(), absl::StatusCode::kDataLoss) << count;
  }
}

TEST(StageLinks, SendTwoBytesAValueInFp16) {
  LocalExchanges exchanges(2);
  StageLinks first(0, 2);
  StageLinks second(1, 2);
  first.Connect(exchanges.For(0));
  second.Connect(exchanges.For(1));
  const std::vector<float> values = {1, -0.5f, 65504};
  ASSERT_TRUE(
      first.SendForward(values.data(), 3, LayerParallelConfig::FP16).ok());
  EXPECT_EQ(first.bytes(), 8);  // Whole words.
  std::vector<float> received;
  ASSERT_TRUE(
      second.ReceiveForward(3, LayerParallelConfig::FP16, &received).ok());
  EXPECT_EQ(received, values);
  ASSERT_TRUE(
      second.SendBackward(values.data(), 3, LayerParallelConfig::FP32).ok());
  EXPECT_EQ(second.bytes(), 12);
  ASSERT_TRUE(
      first.ReceiveBackward(3, LayerParallelConfig::FP32, &received).ok());
  EXPECT_EQ(received, values);
}

std::string Problems(const JobConfig& job) {
  return std::string(ValidateConfig(job).message());
}

TEST(StagedWorkers, WhatNeedsTheWholeGradientIsRefused) {
  JobConfig job = Jobs(SmallJob()).many;
  EXPECT_EQ(Problems(job), "");
  job.mutable_worker_optimizer()->set_name("sgd");
  job.mutable_compressor()->set_name("scalecom");
  job.mutable_compressor()->set_clip_norm(1);
  job.mutable_consistency()->mutable_push_norms()->set_action(
      PushNormsConfig::CAP);
  const std::string problems = Problems(job);
  for (const char* part :
       {"worker_optimizer.name is sgd", "compressor.name is scalecom",
        "compressor.clip_norm is 1", "push_norms.action is CAP"}) {
    EXPECT_TRUE(absl::StrContains(problems, part)) << part << "\n" << problems;
  }
  JobConfig two = SmallJob();
  two.mutable_cluster()->set_num_workers(2);
  EXPECT_TRUE(absl::StrContains(Problems(two),
                                "cluster.num_workers is 2; must be 1 or 3"));
}

}  // namespace
}  // namespace ps
