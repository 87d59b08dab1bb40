#include "data/text_config.h"

#include "absl/strings/str_cat.h"
#include "data/config_rules.h"

namespace ps {
namespace {

constexpr int64_t kWordSteps = 35;  // The value in published results on PTB.
constexpr int64_t kCharacterSteps = 64;

const bool kTextCheckRegistered = RegisterConfigCheck(CheckText);

}  // namespace

int64_t StepsOf(const TextConfig& config, Task task) {
  if (config.steps() > 0) return config.steps();
  return task == Task::kWords ? kWordSteps : kCharacterSteps;
}

void CheckText(const JobConfig& config, ConfigProblems* problems) {
  const TextConfig& text = config.data().text();
  RequireRange("text.steps", text.steps(), 0, 4096, problems);
}

}  // namespace ps
