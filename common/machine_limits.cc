#include "common/machine_limits.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "absl/numeric/bits.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/entropy.h"

namespace ps {
namespace {

ControlGroupLimits OwnLimits() {
  std::ifstream file("/proc/self/cgroup");
  std::string membership;
  std::getline(file, membership, '\0');
  return ReadControlGroupLimits(membership, "/sys/fs/cgroup");
}

// It fails on machines with more processors than the mask has bits.
bool ReadMask(cpu_set_t* mask) {
  CPU_ZERO(mask);
  return sched_getaffinity(0, sizeof(*mask), mask) == 0;
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
        const double cores =
            static_cast<double>(quota_us) / static_cast<double>(period_us);
        if (cores < least.cores) {
          least.cores = cores;
          least.cores_group = root + group;
        }
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
  const int in_mask =
      ReadMask(&allowed)
          ? CPU_COUNT(&allowed)
          : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(
      1, static_cast<int>(std::min<double>(in_mask, OwnLimits().cores)));
}

std::string CoresId() {
  std::string id = absl::StrCat(BootId(), " ");
  cpu_set_t mask;
  if (ReadMask(&mask)) {
    int left = CPU_COUNT(&mask);
    // Four processors a digit, as far as there are some.
    for (int first = 0; left > 0; first += 4) {
      int digit = 0;
      for (int i = 0; i < 4; ++i) {
        if (CPU_ISSET(first + i, &mask)) digit |= 1 << i;
      }
      left -= absl::popcount(static_cast<unsigned>(digit));
      absl::StrAppend(&id, absl::Hex(digit));
    }
  }
  // In a container, the group has the same name as in any other, but is another
  // file.
  struct stat group;
  const std::string limited = OwnLimits().cores_group;
  if (!limited.empty() && stat(limited.c_str(), &group) == 0) {
    absl::StrAppend(&id, " ", group.st_dev, " ", group.st_ino);
  }
  return id;
}

}  // namespace ps
