// What the config says about text, for every data set of that kind.
#ifndef DATA_TEXT_CONFIG_H_
#define DATA_TEXT_CONFIG_H_

#include <cstdint>

#include "common/batch.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {

// Tokens of a row: config.steps, or what is usual for the task.
int64_t StepsOf(const TextConfig& config, Task task);

// Adds the problems of data.text.
void CheckText(const JobConfig& config, ConfigProblems* problems);

}  // namespace ps

#endif  // DATA_TEXT_CONFIG_H_
