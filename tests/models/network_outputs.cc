// Computes the outputs of networks, for tests/interop to compare with those of
// PyTorch.
//
//   network_outputs FOLDER...
//
// Each folder holds what `gradsieve model import` writes, and a batch:
// batch.safetensors with `inputs`, [batch, channels, height, width] or, for
// text, [steps, batch], and `outputs`, whose last extent is the number of
// classes; for texts with a class also `vocabulary`, [1]. The program writes
// outputs.safetensors, with `outputs` in the same shape.

#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "formats/safetensors.h"
#include "google/protobuf/text_format.h"
#include "models/initial_weights.h"
#include "proto/config.pb.h"
#include "tests/models/model_fixture.h"

namespace ps {
namespace {

ExampleShape ExampleOf(const std::vector<int64_t>& inputs, int64_t num_classes,
                       int64_t vocabulary) {
  ExampleShape example;
  if (inputs.size() == 4) {
    example.channels = inputs[1];
    example.height = inputs[2];
    example.width = inputs[3];
  } else {
    example.task = vocabulary > 0 ? Task::kTexts : Task::kWords;
    example.steps = inputs[0];
  }
  example.num_classes = num_classes;
  example.vocabulary = vocabulary;
  return example;
}

absl::Status WriteOutputs(const std::string& folder) {
  PS_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(folder + "/model.textproto"));
  JobConfig job;
  if (!google::protobuf::TextFormat::ParseFromString(text, &job)) {
    return absl::InvalidArgumentError("model.textproto is no part of a job");
  }
  PS_ASSIGN_OR_RETURN(const Safetensors file,
                      ReadSafetensors(folder + "/batch.safetensors"));
  std::map<std::string, SafetensorsTensor> tensors;
  for (const SafetensorsTensor& tensor : file.tensors) {
    tensors[tensor.name] = tensor;
  }
  const SafetensorsTensor& inputs = tensors["inputs"];
  const SafetensorsTensor& expected = tensors["outputs"];
  if (inputs.shape.size() < 2 || expected.shape.empty()) {
    return absl::InvalidArgumentError("the batch lacks inputs or outputs");
  }
  const int64_t num_classes = expected.shape.back();
  const std::vector<float>& words = tensors["vocabulary"].values;
  ModelFixture fixture(
      job.model(),
      ExampleOf(inputs.shape, num_classes,
                words.empty() ? 0 : static_cast<int64_t>(words[0])));
  Tensor& weights = fixture.weights();
  Tensor& statistics = fixture.model().statistics_values();
  PS_RETURN_IF_ERROR(LoadInitialWeights(
      job.model().initial_weights(), fixture.model(),
      {weights.data(), static_cast<size_t>(weights.size())},
      {statistics.data(), static_cast<size_t>(statistics.size())}));
  Batch batch;
  batch.inputs = inputs.values;
  if (words.empty()) batch.steps = fixture.example().steps;
  batch.labels.resize(expected.values.size() / num_classes);
  std::vector<float> outputs;
  PS_RETURN_IF_ERROR(
      fixture.model().Predict(batch, weights, &outputs).status());
  return WriteSafetensors(folder + "/outputs.safetensors",
                          {{"outputs", expected.shape, outputs}}, {});
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::Status status = ps::WriteOutputs(argv[i]);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", argv[i], status.ToString().c_str());
    return 1;
  }
  return 0;
}
