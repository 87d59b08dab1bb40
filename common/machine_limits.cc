#include "common/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ps {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

}  // namespace

int64_t ControlGroupBytes(absl::string_view membership,
                          const std::string& root) {
  int64_t least = kNoLimit;
  for (absl::string_view line : absl::StrSplit(membership, '\n')) {
    // Those of the first version name a controller between the colons.
    if (!absl::ConsumePrefix(&line, "0::")) continue;
    std::string group(line);
    for (;;) {
      std::ifstream file(root + group + "/memory.max");
      std::string text;
      int64_t bytes = 0;
      if (file >> text && absl::SimpleAtoi(text, &bytes)) {
        least = std::min(least, bytes);
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
  std::ifstream file("/proc/self/cgroup");
  std::string membership;
  std::getline(file, membership, '\0');
  return std::min(physical, ControlGroupBytes(membership, "/sys/fs/cgroup"));
}

}  // namespace ps
