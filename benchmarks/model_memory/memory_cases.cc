#include "benchmarks/model_memory/memory_cases.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/random.h"
#include "models/model.h"

namespace ps {
namespace {

MemoryCase Images(int64_t extent, int64_t num_classes, int64_t batch_size) {
  MemoryCase images;
  images.example.channels = 3;
  images.example.height = images.example.width = extent;
  images.example.num_classes = num_classes;
  images.batch_size = batch_size;
  return images;
}

}  // namespace

absl::StatusOr<MemoryCase> FindMemoryCase(absl::string_view model) {
  const std::vector<std::string> kImages = {"alexnet", "resnet18", "resnet50",
                                            "vgg19"};
  const std::vector<std::string> kSmallImages = {"resnet20", "vgg16"};
  const auto among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), model) != names.end();
  };
  MemoryCase result;
  if (model == "lstm_lm") {
    result.config.mutable_lstm_lm()->set_hidden(1500);
    result.config.mutable_lstm_lm()->set_dropout(0.65);
    result.example.task = Task::kWords;
    result.example.steps = 35;
    result.example.num_classes = 10000;
    result.batch_size = 20;
  } else if (among(kImages)) {
    result = Images(224, 1000, 32);
  } else if (among(kSmallImages)) {
    result = Images(32, 10, 128);
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown model \"", model, "\"; known are lstm_lm, ",
        absl::StrJoin(kImages, ", "), ", ", absl::StrJoin(kSmallImages, ", ")));
  }
  result.config.set_name(std::string(model));
  return result;
}

Batch RandomBatch(const ExampleShape& example, int64_t size) {
  RandomStream random(RandomKey(1));
  const auto token = [&] {
    return static_cast<int32_t>(random.Below(example.num_classes));
  };
  Batch batch;
  if (TellsNextToken(example.task)) {
    batch.steps = example.steps;
    for (int64_t i = 0; i < size * example.steps; ++i) {
      batch.inputs.push_back(static_cast<float>(token()));
      batch.labels.push_back(token());
    }
    return batch;
  }
  for (int64_t i = 0; i < size * example.num_elements(); ++i) {
    batch.inputs.push_back(static_cast<float>(random.Uniform(-1, 1)));
  }
  for (int64_t i = 0; i < size; ++i) batch.labels.push_back(token());
  return batch;
}

}  // namespace ps
