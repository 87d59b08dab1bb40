// The memory that this process may use.
#ifndef COMMON_MACHINE_MEMORY_H_
#define COMMON_MACHINE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Bytes: the machine's, or the limit of the control group in which the process
// runs or of one above it, as containers have. Thread-safe.
int64_t MachineMemoryBytes();

// The least memory.max of the control group and those above it, if
// `membership` is the text of /proc/self/cgroup and `root` the folder of the
// second version's hierarchy; INT64_MAX if there is no limit.
int64_t ControlGroupBytes(absl::string_view membership,
                          const std::string& root);

}  // namespace ps

#endif  // COMMON_MACHINE_MEMORY_H_
