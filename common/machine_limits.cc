#include "common/machine_limits.h"

#include <malloc.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/entropy.h"

namespace ps {
namespace {

// Reads the memory limit of one group, in version 2 of control groups or
// version 1. Without a limit, the files of version 2 hold the word "max", which
// is no number.
void TakeMemoryLimit(const std::string& group, bool second,
                     ControlGroupLimits* least) {
  std::ifstream memory(group +
                       (second ? "/memory.max" : "/memory.limit_in_bytes"));
  std::string text;
  int64_t bytes = 0;
  if (memory >> text && absl::SimpleAtoi(text, &bytes)) {
    least->bytes = std::min(least->bytes, bytes);
  }
}

// Reads the CPU limit. The group may use `quota` microseconds of processor time
// in each `period`, also in microseconds. Version 1 has a quota of -1 for no
// limit.
void TakeCoresLimit(const std::string& group, bool second,
                    ControlGroupLimits* least) {
  std::ifstream cpu(group + (second ? "/cpu.max" : "/cpu.cfs_quota_us"));
  std::ifstream own_period(group + "/cpu.cfs_period_us");
  std::string quota;
  std::string period;
  int64_t quota_us = 0;
  int64_t period_us = 0;
  if (!(cpu >> quota) || !((second ? cpu : own_period) >> period) ||
      !absl::SimpleAtoi(quota, &quota_us) ||
      !absl::SimpleAtoi(period, &period_us) || quota_us < 0 || period_us <= 0) {
    return;
  }
  const double cores =
      static_cast<double>(quota_us) / static_cast<double>(period_us);
  if (cores < least->cores) {
    least->cores = cores;
    least->cores_group = group;
  }
}

ControlGroupLimits OwnLimits() {
  std::ifstream file("/proc/self/cgroup");
  std::string membership;
  std::getline(file, membership, '\0');
  return ReadControlGroupLimits(membership, "/sys/fs/cgroup");
}

// Reads the affinity mask. It fails if the machine has more processors than the
// mask has bits.
bool ReadMask(cpu_set_t* mask) {
  CPU_ZERO(mask);
  return sched_getaffinity(0, sizeof(*mask), mask) == 0;
}

}  // namespace

ControlGroupLimits ReadControlGroupLimits(absl::string_view membership,
                                          const std::string& root) {
  ControlGroupLimits least;
  for (const absl::string_view line : absl::StrSplit(membership, '\n')) {
    // A line has number, controllers and group. Version 2 has no controllers
    // here, and all files in one folder.
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      const std::string folder =
          controller.empty() ? root : absl::StrCat(root, "/", controller);
      for (std::string group = parts[2];;) {
        if (controller.empty() || controller == "memory") {
          TakeMemoryLimit(folder + group, controller.empty(), &least);
        }
        if (controller.empty() || controller == "cpu") {
          TakeCoresLimit(folder + group, controller.empty(), &least);
        }
        const size_t slash = group.rfind('/');
        if (slash == std::string::npos) break;
        group.resize(slash);
      }
    }
  }
  return least;
}

int64_t MachineMemoryBytes() {
  const int64_t physical =
      int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(physical, OwnLimits().bytes);
}

int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

int64_t OutOfMemoryKills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  int64_t count = 0;
  while (counters >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

int MachineCores() {
  cpu_set_t allowed;
  const int in_mask =
      ReadMask(&allowed)
          ? CPU_COUNT(&allowed)
          : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(
      1, static_cast<int>(std::min<double>(in_mask, OwnLimits().cores)));
}

int CoresOfEach(int sharers) { return std::max(1, MachineCores() / sharers); }

std::string CoresId() {
  std::string id = absl::StrCat(BootId(), " ");
  cpu_set_t mask;
  if (ReadMask(&mask)) {
    int left = CPU_COUNT(&mask);
    // A digit stands for four processors.
    for (int first = 0; left > 0; first += 4) {
      int digit = 0;
      for (int i = 0; i < 4; ++i) {
        if (CPU_ISSET(first + i, &mask)) digit |= 1 << i;
      }
      left -= absl::popcount(static_cast<unsigned>(digit));
      absl::StrAppend(&id, absl::Hex(digit));
    }
  }
  // In a container, the group has the same name as in any other, but its folder
  // is another inode.
  struct stat group;
  const std::string limited = OwnLimits().cores_group;
  if (!limited.empty() && stat(limited.c_str(), &group) == 0) {
    absl::StrAppend(&id, " ", group.st_dev, " ", group.st_ino);
  }
  return id;
}

}  // namespace ps
