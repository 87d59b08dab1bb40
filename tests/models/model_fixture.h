// A model with its backend, weights and gradient, for tests.
#ifndef TESTS_MODELS_MODEL_FIXTURE_H_
#define TESTS_MODELS_MODEL_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/batch.h"
#include "models/model.h"
#include "proto/model_config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// 28 x 28 grey images in 10 classes.
ExampleShape MnistShape();

// Square colour images.
ExampleShape ColourShape(int64_t extent, int64_t num_classes);

// Whether a registered model is one of the deep convolutional networks.
bool IsDeepConvolutional(const std::string& model);
// Rows of `steps` words out of 10.
ExampleShape TextShape(int64_t steps);

// Frames of 5 features, and an alphabet with a space and two letters.
ExampleShape SpeechShape();

// The named model, small and without dropout, and the examples for it: those of
// MnistShape() or, for a model of text or speech, of TextShape(6) or
// SpeechShape().
ModelConfig SmallModel(const std::string& name);
ExampleShape SmallExample(const std::string& name);

// The mean cross entropy of softmax(logits), in double; logits:
// [labels, classes].
double CrossEntropy(const std::vector<float>& logits,
                    const std::vector<int32_t>& labels);

class ModelFixture {
 public:
  // Creates SmallModel(name) for SmallExample(name). Weights are initialised
  // with seed 1.
  explicit ModelFixture(const std::string& name);
  ModelFixture(const ModelConfig& config, const ExampleShape& example);

  Model& model() const { return *model_; }
  const ExampleShape& example() const { return example_; }
  Tensor& weights() { return weights_; }
  Tensor* gradient() { return &gradient_; }

  std::vector<float> InitialWeights(uint64_t seed) const;
  std::vector<float> GradientValues() const;

  // Random inputs in [0, 1), or random tokens; random labels. For speech, 16
  // frames or fewer, and two different labels.
  Batch RandomBatch(int64_t size, uint64_t seed) const;
  // A batch with only the i-th example.
  Batch Single(const Batch& batch, int64_t i) const;

  // weights -= learning_rate x gradient.
  void Descend(float learning_rate);

 private:
  const ExampleShape example_;
  const std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  Tensor weights_;   // [num_parameters]
  Tensor gradient_;  // [num_parameters]
};

}  // namespace ps

#endif  // TESTS_MODELS_MODEL_FIXTURE_H_
