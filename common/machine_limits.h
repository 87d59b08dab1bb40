// What this process may use of the machine.
#ifndef COMMON_MACHINE_LIMITS_H_
#define COMMON_MACHINE_LIMITS_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Bytes: the machine's, or the limit of the control group in which the process
// runs or of one above it, as containers have. Thread-safe.
int64_t MachineMemoryBytes();

// Processors on which this process may run at once, at least 1: those of its
// affinity mask, or as many as its control groups give it time for, rounded
// down. Thread-safe.
int MachineCores();

struct ControlGroupLimits {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  double cores = std::numeric_limits<double>::infinity();
};

// The least memory.max and cpu.max of the control group and those above it, if
// `membership` is the text of /proc/self/cgroup and `root` the folder of the
// second version's hierarchy.
ControlGroupLimits ReadControlGroupLimits(absl::string_view membership,
                                          const std::string& root);

}  // namespace ps

#endif  // COMMON_MACHINE_LIMITS_H_
