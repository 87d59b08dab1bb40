#include "benchmarks/training_step/step_inputs.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/random.h"

namespace ps {
namespace {

struct Line {
  absl::string_view model;
  float learning_rate;
  ExampleShape example;
};

ExampleShape Images(int64_t extent, int64_t num_classes, int64_t channels = 3) {
  ExampleShape example;
  example.channels = channels;
  example.height = extent;
  example.width = extent;
  example.num_classes = num_classes;
  return example;
}

ExampleShape Words(int64_t steps, int64_t vocabulary) {
  ExampleShape example;
  example.task = Task::kWords;
  example.steps = steps;
  example.num_classes = vocabulary;
  return example;
}

std::vector<Line> Lines() {
  return {{"lenet5", 0.01f, Images(28, 10, /*channels=*/1)},
          {"cifar_cnn", 0.01f, Images(32, 10)},
          {"resnet20", 0.05f, Images(32, 10)},
          {"resnet56", 0.05f, Images(32, 10)},
          {"resnet110", 0.01f, Images(32, 10)},
          {"vgg16", 0.01f, Images(32, 10)},
          {"alexnet", 0.01f, Images(224, 1000)},
          {"resnet18", 0.01f, Images(224, 1000)},
          {"resnet50", 0.01f, Images(224, 1000)},
          {"vgg19", 0.001f, Images(224, 1000)},
          {"lstm_lm", 0.5f, Words(35, 10000)}};
}

absl::StatusOr<Line> Find(absl::string_view model) {
  std::vector<absl::string_view> names;
  for (const Line& line : Lines()) {
    if (line.model == model) return line;
    names.push_back(line.model);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown model \"", model, "\"; known are ", absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<ExampleShape> StepExample(absl::string_view model) {
  const auto line = Find(model);
  if (!line.ok()) return line.status();
  return line->example;
}

float StepSize(absl::string_view model) { return Find(model)->learning_rate; }

Batch StepBatch(const ExampleShape& example, int64_t size) {
  RandomStream random(RandomKey(1));
  Batch batch;
  batch.steps = example.steps;
  const bool text = TellsNextToken(example.task);
  const int64_t targets = text ? size * example.steps : size;
  const int64_t inputs = text ? targets : size * example.num_elements();
  for (int64_t i = 0; i < inputs; ++i) {
    batch.inputs.push_back(
        text ? static_cast<float>(random.Below(example.num_classes))
             : static_cast<float>(random.Uniform(-1, 1)));
  }
  for (int64_t i = 0; i < targets; ++i) {
    batch.labels.push_back(
        static_cast<int32_t>(random.Below(example.num_classes)));
  }
  return batch;
}

}  // namespace ps
