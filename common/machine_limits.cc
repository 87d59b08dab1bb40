#include "common/machine_limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ps {
namespace {

ControlGroupLimits OwnLimits() {
  std::ifstream file("/proc/self/cgroup");
  std::string membership;
  std::getline(file, membership, '\0');
  return ReadControlGroupLimits(membership, "/sys/fs/cgroup");
}

}  // namespace

ControlGroupLimits ReadControlGroupLimits(absl::string_view membership,
                                          const std::string& root) {
  ControlGroupLimits least;
  for (absl::string_view line : absl::StrSplit(membership, '\n')) {
    // Those of the first version name a controller between the colons.
    if (!absl::ConsumePrefix(&line, "0::")) continue;
    std::string group(line);
    for (;;) {
      // Without a limit, both files have the word "max", which is no number.
      std::ifstream memory(root + group + "/memory.max");
      std::string text;
      int64_t bytes = 0;
      if (memory >> text && absl::SimpleAtoi(text, &bytes)) {
        least.bytes = std::min(least.bytes, bytes);
      }
      // The group may use `quota` microseconds of processor time in each
      // `period`, which is in microseconds, too.
      std::ifstream cpu(root + group + "/cpu.max");
      std::string quota;
      std::string period;
      int64_t quota_us = 0;
      int64_t period_us = 0;
      if (cpu >> quota >> period && absl::SimpleAtoi(quota, &quota_us) &&
          absl::SimpleAtoi(period, &period_us) && period_us > 0) {
        least.cores = std::min(least.cores, static_cast<double>(quota_us) /
                                                static_cast<double>(period_us));
      }
      const size_t slash = group.rfind('/');
      if (slash == std::string::npos) break;
      group.resize(slash);
    }
  }
  return least;
}

int64_t MachineMemoryBytes() {
  const int64_t physical =
      int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(physical, OwnLimits().bytes);
}

int MachineCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // It fails on machines with more processors than the mask has bits.
  const int in_mask =
      sched_getaffinity(0, sizeof(allowed), &allowed) == 0
          ? CPU_COUNT(&allowed)
          : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(
      1, static_cast<int>(std::min<double>(in_mask, OwnLimits().cores)));
}

}  // namespace ps
