// On the gradients of a real training: workers' residuals resemble each other,
// and the positions of one of them serve the mean of all.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

constexpr int kWorkers = 4;
constexpr int kIterations = 40;

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

std::vector<float> Values(const Tensor& tensor) {
  return std::vector<float>(tensor.data(), tensor.data() + tensor.size());
}

struct Similarity {
  double residuals = 0;    // Mean cosine of those of two workers.
  double leader_left = 0;  // Share of the square of the mean residual +
                           // gradient that is left at the leader's positions,
  double best_left = 0;    // and with exact top-k of as many elements.
};

// What is left of y without the elements at these positions.
double Left(const std::vector<float>& y, const std::vector<uint32_t>& sent) {
  double left = Dot(y, y);
  for (const uint32_t i : sent) left -= double{y[i]} * y[i];
  return left / Dot(y, y);
}

std::vector<uint32_t> Largest(const std::vector<float>& y, size_t k) {
  std::vector<uint32_t> order(y.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::nth_element(order.begin(), order.begin() + k, order.end(),
                   [&y](uint32_t a, uint32_t b) {
                     return std::fabs(y[a]) > std::fabs(y[b]);
                   });
  order.resize(k);
  return order;
}

// Trains LeNet with ScaleCom in one loop, and averages over the second half.
Similarity Train(int batch_size) {
  const JobConfig job = SmallJob(kWorkers, 1);
  DatasetOptions data_options;
  data_options.config = job.data();
  data_options.config.mutable_digits()->set_train_examples(4000);
  const DatasetPair data = NewDataset(data_options).value();
  SamplerOptions sampler_options;
  sampler_options.num_examples = data.train->size();
  sampler_options.batch_size = batch_size;
  sampler_options.num_workers = kWorkers;
  Sampler sampler = Sampler::Create(sampler_options).value();
  const std::unique_ptr<Backend> backend =
      NewCpuBackend(CpuBackendOptions()).value();
  ModelOptions model_options;
  model_options.config = job.model();
  model_options.example = data.train->example_shape();
  model_options.backend = backend.get();
  const std::unique_ptr<Model> model = NewModel(model_options).value();
  const int64_t n = model->num_parameters();
  Tensor weights = backend->Allocate({n}).value();
  model->InitializeWeights(1, weights.data());

  std::vector<SharedPositions> positions(kWorkers);
  std::vector<std::unique_ptr<Compressor>> compressors;
  std::vector<Tensor> residuals;
  std::vector<Tensor> gradients;
  for (int rank = 0; rank < kWorkers; ++rank) {
    CompressorOptions options;
    options.config.set_name("scalecom");
    options.config.set_ratio(0.01);
    options.dense_size = n;
    options.worker_rank = rank;
    options.num_workers = kWorkers;
    options.backend = backend.get();
    options.shared_positions = &positions[rank];
    compressors.push_back(NewCompressor(options).value());
    residuals.push_back(backend->Allocate({n}).value());
    gradients.push_back(backend->Allocate({n}).value());
  }
  Similarity mean;
  for (int64_t iteration = 0; iteration < kIterations; ++iteration) {
    std::vector<float> y(n, 0.0f);
    for (int rank = 0; rank < kWorkers; ++rank) {
      Batch batch;
      EXPECT_TRUE(
          data.train->Read(sampler.Numbers(iteration, rank), 0, &batch).ok());
      EXPECT_TRUE(
          model
              ->ForwardBackward(batch, weights, &gradients[rank],
                                [](const BatchResult&, int64_t, int64_t) {
                                  return absl::OkStatus();
                                })
              .ok());
      for (int64_t i = 0; i < n; ++i) {
        y[i] +=
            (residuals[rank].data()[i] + gradients[rank].data()[i]) / kWorkers;
      }
    }
    std::vector<uint32_t> sent;
    std::vector<float> values;
    for (int turn = 0; turn < kWorkers; ++turn) {
      const int rank = (LeaderOf(iteration, kWorkers) + turn) % kWorkers;
      positions[rank].given = turn > 0;
      positions[rank].indices = sent;
      const EncodedGradient encoded =
          compressors[rank]
              ->Compress(gradients[rank], &residuals[rank])
              .value();
      DecodePayload({encoded.parts[0].span()}, &sent, &values);
      for (size_t i = 0; i < sent.size(); ++i) {
        weights.data()[sent[i]] -= 0.1f * values[i] / kWorkers;
      }
    }
    if (2 * iteration < kIterations) continue;
    constexpr double kShare = 2.0 / kIterations;
    mean.leader_left += kShare * Left(y, sent);
    mean.best_left += kShare * Left(y, Largest(y, sent.size()));
    double cosines = 0;
    for (int a = 0; a < kWorkers; ++a) {
      for (int b = 0; b < a; ++b) {
        const std::vector<float> x = Values(residuals[a]);
        const std::vector<float> z = Values(residuals[b]);
        cosines += Dot(x, z) / std::sqrt(Dot(x, x) * Dot(z, z));
      }
    }
    mean.residuals += kShare * cosines / (kWorkers * (kWorkers - 1) / 2);
  }
  return mean;
}

TEST(ScaleComGradients, WorkersResembleEachOtherMoreInLargerBatches) {
  Similarity smaller;
  for (const int batch_size : {4, 16, 64}) {
    const Similarity of = Train(batch_size);
    std::cout << "batches of " << batch_size << ": cosine of residuals "
              << of.residuals << ", left at the leader's positions "
              << of.leader_left << ", by exact top-k " << of.best_left << '\n';
    EXPECT_GT(of.residuals, smaller.residuals);
    // It contracts, and no selection leaves less than the exact one.
    EXPECT_LT(of.leader_left, 0.99);
    EXPECT_GT(of.leader_left, of.best_left);
    smaller = of;
  }
  EXPECT_GT(smaller.residuals, 0.3);
}

}  // namespace
}  // namespace ps
