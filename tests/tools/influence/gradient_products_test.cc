#include "tools/influence/gradient_products.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"
#include "tools/influence/factors.h"
#include "tools/influence/sums.h"

namespace ps {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;

std::string LayerOf(const ParameterInfo& parameter) {
  return parameter.name.substr(0, parameter.name.rfind('.'));
}

double Dot(const Floats& a, const Floats& b, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += double{a[i]} * b[i];
  return sum;
}

// A small model, and products at its weights.
class Fixture : public ModelFixture {
 public:
  explicit Fixture(const std::string& name) : ModelFixture(name) {}
  Fixture(const ModelConfig& config, const ExampleShape& example)
      : ModelFixture(config, example) {}

  ModelAtCheckpoint at() {
    return {&model(), &weights(), backend_.get(), example()};
  }
  std::unique_ptr<GradientProducts> LastLayer(bool with_bias) {
    LastLayerOptions options;
    options.with_bias = with_bias;
    auto products = NewLastLayerProducts(at(), options);
    EXPECT_TRUE(products.ok()) << products.status();
    return *std::move(products);
  }
  std::unique_ptr<GradientProducts> AllLayers() { return Layers({}); }
  std::unique_ptr<GradientProducts> Layers(
      const std::vector<std::string>& layers) {
    auto products = NewLayerProducts(at(), layers);
    EXPECT_TRUE(products.ok()) << products.status();
    return *std::move(products);
  }

  // The gradient of each example's loss, by a backward pass of its own.
  std::vector<Floats> Gradients(const Batch& batch) {
    std::vector<Floats> gradients;
    for (int64_t i = 0; i < batch.size(); ++i) {
      EXPECT_TRUE(
          model()
              .ForwardBackward(Single(batch, i), weights(), gradient(), nullptr)
              .ok());
      gradients.push_back(GradientValues());
    }
    return gradients;
  }

 private:
  const std::unique_ptr<Backend> backend_ = CpuBackendForTest();
};

ExampleScores ScoresOf(GradientProducts* products, const Batch& examples,
                       const Batch& queries) {
  EXPECT_TRUE(products->AddQueries(queries).ok());
  ExampleScores scores;
  EXPECT_TRUE(products->Score(examples, &scores).ok());
  EXPECT_EQ(scores.size(), examples.size());
  return scores;
}

// Compares with inner products of gradients[begin, end).
void ExpectProducts(const ExampleScores& scores,
                    const std::vector<Floats>& examples,
                    const std::vector<Floats>& queries, size_t begin,
                    size_t end) {
  for (size_t i = 0; i < examples.size(); ++i) {
    const double self = Dot(examples[i], examples[i], begin, end);
    EXPECT_NEAR(scores.self[i] / self, 1, 1e-5) << i;
    for (size_t q = 0; q < queries.size(); ++q) {
      const double scale =
          std::sqrt(self * Dot(queries[q], queries[q], begin, end));
      EXPECT_NEAR(scores.products[i * queries.size() + q],
                  Dot(examples[i], queries[q], begin, end), 1e-5 * scale)
          << i << ", " << q;
    }
  }
}

class ProductsOfModels : public testing::TestWithParam<const char*> {};

TEST_P(ProductsOfModels, LastLayerEqualsPerExampleBackPropagation) {
  Fixture fixture(GetParam());
  const Batch examples = fixture.RandomBatch(7, 1);
  const Batch queries = fixture.RandomBatch(3, 2);
  const std::vector<Floats> example_gradients = fixture.Gradients(examples);
  const std::vector<Floats> query_gradients = fixture.Gradients(queries);
  const std::vector<ParameterInfo>& parameters = fixture.model().parameters();
  const size_t begin = parameters[parameters.size() - 2].offset;
  const size_t bias = parameters.back().offset;
  const size_t end = example_gradients[0].size();
  ExpectProducts(ScoresOf(fixture.LastLayer(true).get(), examples, queries),
                 example_gradients, query_gradients, begin, end);
  const ExampleScores without =
      ScoresOf(fixture.LastLayer(false).get(), examples, queries);
  ExpectProducts(without, example_gradients, query_gradients, begin, bias);
  // The bias makes a difference that the comparison notices.
  EXPECT_GT(Dot(example_gradients[0], example_gradients[0], bias, end),
            1e-3 * without.self[0]);
}

TEST_P(ProductsOfModels, AllLayersEqualPerExampleBackPropagation) {
  Fixture fixture(GetParam());
  const Batch examples = fixture.RandomBatch(5, 1);
  const Batch queries = fixture.RandomBatch(2, 2);
  const std::vector<Floats> example_gradients = fixture.Gradients(examples);
  ExpectProducts(ScoresOf(fixture.AllLayers().get(), examples, queries),
                 example_gradients, fixture.Gradients(queries), 0,
                 example_gradients[0].size());
}

TEST_P(ProductsOfModels, NamedLayersHaveAPartOfThatEach) {
  Fixture fixture(GetParam());
  const Batch examples = fixture.RandomBatch(4, 1);
  const Batch queries = fixture.RandomBatch(2, 2);
  const std::vector<Floats> example_gradients = fixture.Gradients(examples);
  const std::vector<Floats> query_gradients = fixture.Gradients(queries);
  const std::vector<ParameterInfo>& parameters = fixture.model().parameters();
  // A layer's weight and bias follow each other, last of all the last layer's.
  const std::string first = LayerOf(parameters[0]);
  const std::string last = LayerOf(parameters.back());
  ASSERT_NE(first, last);
  const size_t begin = parameters[parameters.size() - 2].offset;
  const size_t end = example_gradients[0].size();
  const size_t after_first = parameters[2].offset;
  ExpectProducts(ScoresOf(fixture.Layers({last}).get(), examples, queries),
                 example_gradients, query_gradients, begin, end);
  ExpectProducts(ScoresOf(fixture.Layers({first}).get(), examples, queries),
                 example_gradients, query_gradients, 0, after_first);
  ExpectProducts(
      ScoresOf(fixture.Layers({parameters[0].name}).get(), examples, queries),
      example_gradients, query_gradients, 0, parameters[1].offset);
  // Both together, in any order.
  const ExampleScores both =
      ScoresOf(fixture.Layers({last, first}).get(), examples, queries);
  for (int64_t i = 0; i < examples.size(); ++i) {
    const double sum =
        Dot(example_gradients[i], example_gradients[i], 0, after_first) +
        Dot(example_gradients[i], example_gradients[i], begin, end);
    EXPECT_NEAR(both.self[i] / sum, 1, 1e-5);
  }
}

// With fixed statistics, it is a 1 x 1 convolution of each channel alone, with
// the weight w / s and the bias b - mean w / s, where s is the root of the
// variance and epsilon.
TEST(GradientProducts, BatchNormalisationHasTheStatisticsOfTheCheckpoint) {
  constexpr int kChannels = 4;
  ModelConfig normalised;
  normalised.set_name("layers");
  LayersConfig* layers = normalised.mutable_layers();
  ConvolutionConfig& first = *layers->add_layer()->mutable_convolution();
  first.set_out_channels(kChannels);
  first.add_kernel_size(5);
  layers->add_layer()->mutable_batch_norm();
  layers->add_layer()->set_activation("relu");
  layers->add_layer()->mutable_global_pooling();
  layers->add_layer()->mutable_linear();
  ModelConfig scaled = normalised;
  ConvolutionConfig& scale =
      *scaled.mutable_layers()->mutable_layer(1)->mutable_convolution();
  scale.set_out_channels(kChannels);
  scale.set_groups(kChannels);
  scale.add_kernel_size(1);

  Fixture fixture(normalised, MnistShape());
  for (uint64_t seed = 11; seed < 16; ++seed) {
    const Batch batch = fixture.RandomBatch(8, seed);
    ASSERT_TRUE(fixture.model()
                    .ForwardBackward(batch, fixture.weights(),
                                     fixture.gradient(), nullptr)
                    .ok());
    fixture.Descend(0.5f);
  }
  const size_t weight = fixture.model().parameters()[2].offset;
  const size_t bias = weight + kChannels;
  const float* const statistics = fixture.model().statistics_values().data();
  Floats inverse(kChannels);
  Fixture reference(scaled, MnistShape());
  float* const values = reference.weights().data();
  std::copy_n(fixture.weights().data(), fixture.weights().size(), values);
  for (int c = 0; c < kChannels; ++c) {
    inverse[c] = 1 / std::sqrt(statistics[kChannels + c] + 1e-5f);
    values[weight + c] *= inverse[c];
    values[bias + c] -= statistics[c] * values[weight + c];
  }
  const Batch examples = fixture.RandomBatch(5, 1);
  const Batch queries = fixture.RandomBatch(2, 2);
  const auto gradients = [&](const Batch& batch) {
    std::vector<Floats> all = reference.Gradients(batch);
    for (Floats& gradient : all) {
      for (int c = 0; c < kChannels; ++c) {
        gradient[weight + c] =
            inverse[c] *
            (gradient[weight + c] - statistics[c] * gradient[bias + c]);
      }
    }
    return all;
  };
  const std::vector<Floats> expected = gradients(examples);
  ExpectProducts(ScoresOf(fixture.AllLayers().get(), examples, queries),
                 expected, gradients(queries), 0, expected[0].size());
}

// A residual block takes another way, and one example is enough for it.
TEST(GradientProducts, OfAResidualNetworkContainThatOfItsLastLayer) {
  Fixture resnet(SmallModel("resnet20"), ColourShape(16, 10));
  const Batch batch = resnet.RandomBatch(3, 1);
  const ExampleScores last =
      ScoresOf(resnet.LastLayer(true).get(), batch, batch);
  const ExampleScores named = ScoresOf(
      resnet.Layers({LayerOf(resnet.model().parameters().back())}).get(), batch,
      batch);
  const ExampleScores all = ScoresOf(resnet.AllLayers().get(), batch, batch);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(named.self[i] / last.self[i], 1, 1e-4);
    EXPECT_GT(all.self[i], last.self[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ProductsOfModels,
                         testing::Values("lenet5", "mlp", "layers"));

// A classifier without hidden layers is its own last layer.
TEST(GradientProducts, OfALinearModelAreTheSameForBothChoicesOfLayers) {
  ModelConfig config;
  config.set_name("mlp");
  Fixture fixture(config, MnistShape());
  const Batch examples = fixture.RandomBatch(4, 1);
  const ExampleScores last =
      ScoresOf(fixture.LastLayer(true).get(), examples, examples);
  const ExampleScores all =
      ScoresOf(fixture.AllLayers().get(), examples, examples);
  for (size_t i = 0; i < last.products.size(); ++i) {
    EXPECT_NEAR(last.products[i], all.products[i], 1e-3);
  }
  // Symmetric, and on the diagonal what an example's own gradient gives.
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(last.products[i * 4 + i], last.self[i]);
    EXPECT_GE(last.self[i], 0);
    for (int j = 0; j < i; ++j) {
      EXPECT_EQ(last.products[i * 4 + j], last.products[j * 4 + i]);
      EXPECT_EQ(all.products[i * 4 + j], all.products[j * 4 + i]);
    }
  }
}

// In a model with two classes, a copy with the other label pulls the other way:
// e . e' = -2 p (1 - p).
TEST(GradientProducts, CopyWithTheOtherLabelIsAnOpponent) {
  ModelConfig config = SmallModel("mlp");
  Fixture fixture(config, ColourShape(4, 2));
  Batch query = fixture.RandomBatch(1, 3);
  query.labels = {0};
  Batch copies = query;
  copies.inputs.insert(copies.inputs.end(), query.inputs.begin(),
                       query.inputs.end());
  copies.labels = {0, 1};
  const ExampleScores scores =
      ScoresOf(fixture.LastLayer(false).get(), copies, query);
  EXPECT_NEAR(scores.products[0] / scores.self[0], 1, 1e-5);
  const double p = std::exp(-scores.losses[0]);
  EXPECT_NEAR(std::exp(-scores.losses[1]), 1 - p, 1e-6);
  EXPECT_LT(scores.products[1], 0);
  // self = 2 (1 - p)^2 (a . a).
  EXPECT_NEAR(scores.products[1] / scores.self[0], -p / (1 - p), 1e-4);
}

TEST(GradientProducts, LossesArePredictionsOfAnEvaluation) {
  // Batch normalisation with the running statistics, not those of the batch.
  for (const char* name : {"resnet20", "lenet5"}) {
    Fixture fixture(
        name == std::string("lenet5") ? SmallModel(name)
                                      : SmallModel("resnet20"),
        name == std::string("lenet5") ? MnistShape() : ColourShape(16, 10));
    const Batch batch = fixture.RandomBatch(6, 1);
    const ExampleScores scores =
        ScoresOf(fixture.LastLayer(true).get(), batch, batch);
    double sum = 0;
    int64_t correct = 0;
    for (int i = 0; i < 6; ++i) {
      sum += scores.losses[i];
      correct += scores.predicted[i] == scores.labels[i];
    }
    const auto result = fixture.model().Evaluate(batch, fixture.weights());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(sum / 6, result->loss, 1e-5) << name;
    EXPECT_EQ(correct, result->correct) << name;
  }
}

// Dropout would make the gradients of two passes differ.
TEST(GradientProducts, LeaveDropoutOut) {
  ModelConfig config = SmallModel("layers");
  LayersConfig with_dropout = config.layers();
  with_dropout.clear_layer();
  for (const LayerConfig& layer : config.layers().layer()) {
    *with_dropout.add_layer() = layer;
    if (layer.kind_case() == LayerConfig::kActivation) {
      with_dropout.add_layer()->set_dropout(0.5);
    }
  }
  ModelConfig dropping = config;
  *dropping.mutable_layers() = with_dropout;
  Fixture fixture(dropping, MnistShape());
  Fixture plain(config, MnistShape());
  const Batch batch = plain.RandomBatch(4, 1);
  EXPECT_EQ(ScoresOf(fixture.AllLayers().get(), batch, batch).products,
            ScoresOf(plain.AllLayers().get(), batch, batch).products);
  EXPECT_EQ(ScoresOf(fixture.LastLayer(true).get(), batch, batch).products,
            ScoresOf(plain.LastLayer(true).get(), batch, batch).products);
}

TEST(GradientProducts, WhatCannotBeComputedIsNamed) {
  ModelConfig pooled;
  pooled.set_name("layers");
  LayerConfig& convolution = *pooled.mutable_layers()->add_layer();
  convolution.mutable_convolution()->set_out_channels(10);
  convolution.mutable_convolution()->add_kernel_size(3);
  pooled.mutable_layers()->add_layer()->mutable_global_pooling();
  Fixture no_linear(pooled, MnistShape());
  const auto last = NewLastLayerProducts(no_linear.at(), LastLayerOptions());
  EXPECT_TRUE(absl::IsInvalidArgument(last.status()));
  EXPECT_THAT(last.status().message(), HasSubstr("--layers=all"));
  const auto unknown = NewLayerProducts(no_linear.at(), {"0", "fc"});
  EXPECT_TRUE(absl::IsInvalidArgument(unknown.status()));
  EXPECT_THAT(unknown.status().message(),
              HasSubstr("--layers names fc, and the model has no such layer "
                        "with weights; it has 0 and what"));
  Fixture mlp("mlp");
  Batch batch = mlp.RandomBatch(2, 1);
  batch.labels[1] = 10;
  EXPECT_THAT(mlp.LastLayer(true)->AddQueries(batch).message(),
              HasSubstr("label 10 of example 1; must be in [0, 10)"));
  batch.labels[1] = 9;
  batch.inputs[0] = NAN;
  EXPECT_TRUE(absl::IsOutOfRange(mlp.LastLayer(true)->AddQueries(batch)));
  EXPECT_TRUE(absl::IsOutOfRange(mlp.AllLayers()->AddQueries(batch)));
}

// TracInIdeal, the loss that each update really took off the query, for SGD
// with one example at a time. Its sum over all updates telescopes to the loss
// at the beginning minus the loss at the end, and for small steps the scores
// approach it, if each update has its checkpoint. The function is smooth:
// around a corner of a ReLU no step is small enough.
TEST(GradientProducts, ApproachTheRealChangesOfTheLoss) {
  constexpr float kRate = 0.001f;
  constexpr int kExamples = 12;
  ModelConfig config = SmallModel("layers");
  config.mutable_layers()->mutable_layer(2)->set_activation("tanh");
  Fixture fixture(config, MnistShape());
  const Batch query = fixture.RandomBatch(1, 9);
  const Batch examples = fixture.RandomBatch(kExamples, 5);
  const auto loss = [&] {
    return fixture.model().Evaluate(query, fixture.weights())->loss;
  };
  const double first = loss();
  double sum = 0, squares = 0, errors = 0;
  InfluenceSums sums(kExamples, 1);
  std::vector<double> ideal(kExamples);
  for (int step = 0; step < 3 * kExamples; ++step) {
    const int i = step * 5 % kExamples;
    const Batch example = fixture.Single(examples, i);
    sums.Add(i, kRate, ScoresOf(fixture.AllLayers().get(), example, query));
    const double before = loss();
    ASSERT_TRUE(fixture.model()
                    .ForwardBackward(example, fixture.weights(),
                                     fixture.gradient(), nullptr)
                    .ok());
    fixture.Descend(kRate);
    ideal[i] += before - loss();
  }
  const std::vector<double> influence = sums.OnQuery(0);
  for (int i = 0; i < kExamples; ++i) {
    sum += ideal[i];
    squares += ideal[i] * ideal[i];
    errors += (ideal[i] - influence[i]) * (ideal[i] - influence[i]);
  }
  EXPECT_NEAR(sum, first - loss(), 1e-5 * std::abs(first));
  EXPECT_LT(std::sqrt(errors / squares), 0.05);
}

}  // namespace
}  // namespace ps
