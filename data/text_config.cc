#include "data/text_config.h"

namespace ps {
namespace {

constexpr int64_t kWordSteps = 35;  // The value in published results on PTB.
constexpr int64_t kCharacterSteps = 64;

}  // namespace

int64_t StepsOf(const TextConfig& config, Task task) {
  if (config.steps() > 0) return config.steps();
  return task == Task::kWords ? kWordSteps : kCharacterSteps;
}

}  // namespace ps
