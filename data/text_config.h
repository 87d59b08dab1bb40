// The options that all data sets of text share.
#ifndef DATA_TEXT_CONFIG_H_
#define DATA_TEXT_CONFIG_H_

#include <cstdint>

#include "common/batch.h"
#include "proto/config.pb.h"

namespace ps {

// Returns the tokens in a row: config.steps, or the task's usual value if
// unset.
int64_t StepsOf(const TextConfig& config, Task task);

}  // namespace ps

#endif  // DATA_TEXT_CONFIG_H_
