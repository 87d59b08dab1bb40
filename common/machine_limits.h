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

// What this process has allocated and not freed, in bytes. Thread-safe.
int64_t HeapBytes();

// How many processes the kernel has killed since the machine was started
// because there was no memory left; 0 if it does not say. Thread-safe.
int64_t OutOfMemoryKills();

// Processors on which this process may run at once, at least 1: those of its
// affinity mask, or as many as its control groups give it time for, rounded
// down. Thread-safe.
int MachineCores();

// How many of MachineCores() each of `sharers` processes uses, at least 1.
int CoresOfEach(int sharers);

// Equal for two processes that share these processors: both run under one
// system (its boot), with the same affinity mask, and under the same limit of
// control groups, if there is one. Two containers that each have a limit of
// their own share none. At most 512 bytes. Thread-safe.
std::string CoresId();

struct ControlGroupLimits {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  double cores = std::numeric_limits<double>::infinity();
  // The folder of the control group that has this limit of cores.
  std::string cores_group;
};

// The least limits of the control groups of this process and those above them,
// if `membership` is the text of /proc/self/cgroup and `root` the folder of the
// hierarchy, or of the hierarchies of the first version.
ControlGroupLimits ReadControlGroupLimits(absl::string_view membership,
                                          const std::string& root);

}  // namespace ps

#endif  // COMMON_MACHINE_LIMITS_H_
