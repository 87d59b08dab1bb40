#include "tests/models/model_fixture.h"

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "common/random.h"
#include "glog/logging.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

constexpr int64_t kFrames = 16;

bool IsClassifier(const std::string& name) {
  return absl::EndsWith(name, "_classifier");
}

Batch RandomSpeech(const ExampleShape& example, int64_t size,
                   RandomStream* random) {
  Batch batch;
  batch.steps = kFrames;
  for (int64_t i = 0; i < size; ++i) {
    batch.input_lengths.push_back(static_cast<int32_t>(kFrames - i % 3));
    const uint64_t labels = example.num_classes - 1;
    const uint64_t first = random->Below(labels);
    const uint64_t second = (first + 1 + random->Below(labels - 1)) % labels;
    batch.labels.push_back(static_cast<int32_t>(1 + first));
    batch.labels.push_back(static_cast<int32_t>(1 + second));
    batch.label_lengths.push_back(2);
  }
  for (int64_t t = 0; t < kFrames; ++t) {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t f = 0; f < example.features; ++f) {
        batch.inputs.push_back(t < batch.input_lengths[i]
                                   ? static_cast<float>(random->Uniform())
                                   : 0.0f);
      }
    }
  }
  return batch;
}

}  // namespace

ModelConfig SmallModel(const std::string& name) {
  ModelConfig config;
  config.set_name(name);
  config.mutable_mlp()->add_hidden_units(30);
  config.mutable_mlp()->add_hidden_units(20);
  config.mutable_lstm_lm()->set_hidden(16);
  config.mutable_lstm_lm()->set_dropout(0);
  config.mutable_char_lstm()->set_hidden(16);
  config.mutable_char_lstm()->set_embedding_size(12);
  config.mutable_speech_lstm()->set_layers(2);
  config.mutable_speech_lstm()->set_hidden(16);
  config.mutable_speech_dnn()->set_layers(2);
  config.mutable_speech_dnn()->set_hidden(16);
  if (name == "layers") {
    LayersConfig& layers = *config.mutable_layers();
    layers.add_layer()->mutable_flatten();
    layers.add_layer()->mutable_linear()->set_out_features(30);
    layers.add_layer()->set_activation("relu");
    layers.add_layer()->mutable_linear();
  }
  if (IsClassifier(name)) {
    config.set_name("layers");
    LayersConfig& layers = *config.mutable_layers();
    layers.add_layer()->mutable_embedding()->set_features(6);
    layers.add_layer()->mutable_gru()->set_hidden(8);
    if (name == "last_step_classifier") {
      layers.add_layer()->mutable_last_step();
    } else {
      layers.add_layer()->mutable_global_pooling();
    }
    layers.add_layer()->mutable_linear();
  }
  return config;
}

ExampleShape SmallExample(const std::string& name) {
  if (IsClassifier(name)) {
    ExampleShape shape = TextShape(6);
    shape.task = Task::kTexts;
    shape.vocabulary = 12;
    return shape;
  }
  const bool text = name == "lstm_lm" || name == "char_lstm";
  if (text) return TextShape(6);
  const bool speech = name == "speech_lstm" || name == "speech_dnn";
  return speech ? SpeechShape() : MnistShape();
}

ExampleShape MnistShape() {
  ExampleShape shape;
  shape.channels = 1;
  shape.height = 28;
  shape.width = 28;
  shape.num_classes = 10;
  return shape;
}

ExampleShape ColourShape(int64_t extent, int64_t num_classes) {
  ExampleShape shape;
  shape.channels = 3;
  shape.height = extent;
  shape.width = extent;
  shape.num_classes = num_classes;
  return shape;
}

bool IsDeepConvolutional(const std::string& model) {
  return model == "cifar_cnn" || model == "alexnet" ||
         absl::StartsWith(model, "vgg") || absl::StartsWith(model, "resnet");
}

ExampleShape TextShape(int64_t steps) {
  ExampleShape shape;
  shape.task = Task::kWords;
  shape.steps = steps;
  shape.num_classes = 10;
  return shape;
}

ExampleShape SpeechShape() {
  ExampleShape shape;
  shape.task = Task::kSpeech;
  shape.features = 5;
  shape.num_classes = 4;
  shape.alphabet = "- ab";
  return shape;
}

double CrossEntropy(const std::vector<float>& logits,
                    const std::vector<int32_t>& labels) {
  const size_t classes = logits.size() / labels.size();
  double loss = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) {
      sum += std::exp(double{logits[i * classes + c]});
    }
    loss += std::log(sum) - logits[i * classes + labels[i]];
  }
  return loss / static_cast<double>(labels.size());
}

ModelFixture::ModelFixture(const std::string& name)
    : ModelFixture(SmallModel(name), SmallExample(name)) {}

ModelFixture::ModelFixture(const ModelConfig& config,
                           const ExampleShape& example)
    : example_(example), backend_(CpuBackendForTest()) {
  ModelOptions options;
  options.config = config;
  options.example = example;
  options.backend = backend_.get();
  auto model = NewModel(options);
  CHECK(model.ok()) << model.status();
  model_ = *std::move(model);
  for (Tensor* tensor : {&weights_, &gradient_}) {
    auto allocated = backend_->Allocate({model_->num_parameters()});
    CHECK(allocated.ok()) << allocated.status();
    *tensor = *std::move(allocated);
  }
  model_->InitializeWeights(1, weights_.data());
}

std::vector<float> ModelFixture::InitialWeights(uint64_t seed) const {
  std::vector<float> weights(model_->num_parameters());
  model_->InitializeWeights(seed, weights.data());
  return weights;
}

std::vector<float> ModelFixture::GradientValues() const {
  return std::vector<float>(gradient_.data(),
                            gradient_.data() + gradient_.size());
}

Batch ModelFixture::RandomBatch(int64_t size, uint64_t seed) const {
  RandomStream random(RandomKey(seed));
  if (example_.task == Task::kSpeech) {
    return RandomSpeech(example_, size, &random);
  }
  Batch batch;
  if (TellsNextToken(example_.task)) batch.steps = example_.steps;
  if (example_.num_tokens() > 0 && example_.steps > 0) {
    for (int64_t i = 0; i < size * example_.steps; ++i) {
      // Rows begin with different tokens, since rows with equal beginnings
      // cannot be told apart.
      batch.inputs.push_back(
          static_cast<float>(i < size ? i % example_.num_tokens()
                                      : random.Below(example_.num_tokens())));
    }
  } else {
    for (int64_t i = 0; i < size * example_.num_elements(); ++i) {
      batch.inputs.push_back(static_cast<float>(random.Uniform()));
    }
  }
  const int64_t targets =
      TellsNextToken(example_.task) ? size * example_.steps : size;
  for (int64_t i = 0; i < targets; ++i) {
    batch.labels.push_back(
        static_cast<int32_t>(random.Below(example_.num_classes)));
  }
  return batch;
}

Batch ModelFixture::Single(const Batch& batch, int64_t i) const {
  Batch one;
  one.steps = batch.steps;
  if (TellsNextToken(example_.task)) {
    for (int64_t t = 0; t < batch.steps; ++t) {
      one.inputs.push_back(batch.inputs[t * batch.size() + i]);
      one.labels.push_back(batch.labels[t * batch.size() + i]);
    }
    return one;
  }
  if (example_.task == Task::kSpeech) {
    const int64_t n = example_.features;
    for (int64_t t = 0; t < batch.steps; ++t) {
      const auto frame = batch.inputs.begin() + (t * batch.size() + i) * n;
      one.inputs.insert(one.inputs.end(), frame, frame + n);
    }
    one.input_lengths = {batch.input_lengths[i]};
    one.label_lengths = {batch.label_lengths[i]};
    one.labels = {batch.labels[2 * i], batch.labels[2 * i + 1]};
    return one;
  }
  const int64_t n = example_.num_elements();
  one.inputs.assign(batch.inputs.begin() + i * n,
                    batch.inputs.begin() + (i + 1) * n);
  one.labels = {batch.labels[i]};
  return one;
}

void ModelFixture::Descend(float learning_rate) {
  for (int64_t i = 0; i < weights_.size(); ++i) {
    weights_.data()[i] -= learning_rate * gradient_.data()[i];
  }
}

}  // namespace ps
