// Reads the resource limits of this process.
#ifndef COMMON_MACHINE_LIMITS_H_
#define COMMON_MACHINE_LIMITS_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// The memory that this process may use, in bytes: the machine's, or the least
// limit of its control group and those above it, as containers have.
// Thread-safe.
int64_t MachineMemoryBytes();

// The bytes that this process has allocated and not freed. Thread-safe.
int64_t HeapBytes();

// The number of processes that the kernel has killed for lack of memory since
// boot; 0 if it does not say. Thread-safe.
int64_t OutOfMemoryKills();

// The number of processors on which this process may run at once, at least 1:
// those of its affinity mask, or the CPU quota of its control groups if that is
// less, rounded down. Thread-safe.
int MachineCores();

// The share of MachineCores() of each of `sharers` processes, at least 1.
int CoresOfEach(int sharers);

// A text that is equal for two processes that share their processors: both run
// in one boot of a machine, with the same affinity mask, and under the same CPU
// limit of control groups, if there is one. Two containers that each have a
// limit of their own share none. At most 512 bytes. Thread-safe.
std::string CoresId();

struct ControlGroupLimits {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  double cores = std::numeric_limits<double>::infinity();
  // The folder of the control group that has this CPU limit.
  std::string cores_group;
};

// Returns the least limits of this process's control groups and those above
// them. `membership` is the text of /proc/self/cgroup, `root` the folder of the
// hierarchy, or of the hierarchies of version 1.
ControlGroupLimits ReadControlGroupLimits(absl::string_view membership,
                                          const std::string& root);

}  // namespace ps

#endif  // COMMON_MACHINE_LIMITS_H_
