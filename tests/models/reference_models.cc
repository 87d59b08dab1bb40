#include "tests/models/reference_models.h"

#include <cstdint>

#include "tests/tensor/reference_ops.h"

namespace ps {
namespace {

// Reads tensors one after the other from the flat vector.
class WeightReader {
 public:
  explicit WeightReader(const std::vector<double>& weights)
      : next_(weights.begin()) {}

  std::vector<double> Take(int64_t n) {
    next_ += n;
    return std::vector<double>(next_ - n, next_);
  }

 private:
  std::vector<double>::const_iterator next_;
};

ReferenceTensor Inputs(const ExampleShape& example, const Batch& batch) {
  ReferenceTensor x;
  x.shape = {batch.size(), example.channels, example.height, example.width};
  x.values.assign(batch.inputs.begin(), batch.inputs.end());
  return x;
}

ReferenceTensor ConvolveReluPool(const ReferenceTensor& x, int64_t out_channels,
                                 int64_t padding, WeightReader* reader) {
  ConvolutionShape shape;
  shape.out_channels = out_channels;
  shape.kernel_height = 5;
  shape.kernel_width = 5;
  shape.padding = padding;
  const std::vector<double> weight =
      reader->Take(out_channels * x.shape[1] * 25);
  const std::vector<double> bias = reader->Take(out_channels);
  return ReferencePooling(PoolingShape(), ReferenceRelu(ReferenceConvolution(
                                              shape, x, weight, bias)));
}

ReferenceTensor Linear(const ReferenceTensor& x, int64_t out_features,
                       WeightReader* reader) {
  const int64_t in_features = NumElements(x.shape) / x.shape[0];
  const std::vector<double> weight = reader->Take(out_features * in_features);
  return ReferenceLinear(x, weight, reader->Take(out_features));
}

}  // namespace

double ReferenceLenet5Loss(const std::vector<double>& weights,
                           const ExampleShape& example, const Batch& batch) {
  WeightReader reader(weights);
  ReferenceTensor x = Inputs(example, batch);
  x = ConvolveReluPool(x, 6, 2, &reader);
  x = ConvolveReluPool(x, 16, 0, &reader);
  x = ReferenceRelu(Linear(x, 120, &reader));
  x = ReferenceRelu(Linear(x, 84, &reader));
  x = Linear(x, example.num_classes, &reader);
  return ReferenceCrossEntropy(x, batch.labels);
}

double ReferenceMlpLoss(const std::vector<double>& weights,
                        const std::vector<int>& hidden_units,
                        const ExampleShape& example, const Batch& batch) {
  WeightReader reader(weights);
  ReferenceTensor x = Inputs(example, batch);
  for (const int units : hidden_units) {
    x = ReferenceRelu(Linear(x, units, &reader));
  }
  x = Linear(x, example.num_classes, &reader);
  return ReferenceCrossEntropy(x, batch.labels);
}

double ReferenceLanguageModelLoss(const std::vector<double>& weights,
                                  const ReferenceLanguageModel& model,
                                  const ExampleShape& example,
                                  const Batch& batch,
                                  std::vector<ReferenceState>* states) {
  WeightReader reader(weights);
  const int64_t hidden = model.recurrent.hidden;
  const int64_t rows = model.recurrent.num_gates() * hidden;
  const std::vector<double> table =
      reader.Take(example.num_classes * model.embedding_size);
  ReferenceTensor x;
  x.shape = {batch.steps, batch.size(), model.embedding_size};
  for (const float token : batch.inputs) {
    const auto row =
        table.begin() + static_cast<int64_t>(token) * model.embedding_size;
    x.values.insert(x.values.end(), row, row + model.embedding_size);
  }
  for (int64_t i = 0; i < model.layers; ++i) {
    ReferenceRecurrentWeights layer;
    layer.input = reader.Take(rows * x.shape[2]);
    layer.recurrent = reader.Take(rows * hidden);
    layer.input_bias = reader.Take(rows);
    layer.recurrent_bias = reader.Take(rows);
    x = ReferenceRecurrent(model.recurrent, x, layer, &(*states)[i]);
  }
  const std::vector<double> output =
      model.tied_output ? table : reader.Take(example.num_classes * hidden);
  x.shape = {batch.steps * batch.size(), hidden};
  return ReferenceCrossEntropy(
      ReferenceLinear(x, output, reader.Take(example.num_classes)),
      batch.labels);
}

}  // namespace ps
