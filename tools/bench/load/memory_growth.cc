#include "tools/bench/load/memory_growth.h"

#include <algorithm>

namespace ps {

MemoryGrowth GrowthOf(const ProcessMemory& memory, double seconds) {
  MemoryGrowth growth;
  int before_half = 0;
  int after_half = 0;
  for (const MemorySample& sample : memory.samples) {
    if (growth.first == 0) growth.first = sample.bytes;
    growth.last = sample.bytes;
    growth.largest = std::max(growth.largest, sample.bytes);
    if (sample.seconds < seconds / 10) continue;
    if (growth.after_tenth == 0) growth.after_tenth = sample.bytes;
    const bool late = sample.seconds >= seconds / 2;
    int64_t& largest =
        late ? growth.largest_after_half : growth.largest_before_half;
    largest = std::max(largest, sample.bytes);
    ++(late ? after_half : before_half);
  }
  if (before_half >= kFewestSamples && after_half >= kFewestSamples) {
    growth.flat =
        static_cast<double>(growth.largest_after_half) <=
        (1 + kFlatPart) * static_cast<double>(growth.largest_before_half) +
            kFlatBytes;
  }
  return growth;
}

std::optional<bool> AllFlat(const std::vector<ProcessMemory>& processes,
                            double seconds) {
  std::optional<bool> all = true;
  for (const ProcessMemory& process : processes) {
    const std::optional<bool> flat = GrowthOf(process, seconds).flat;
    if (flat == false) return false;
    if (!flat.has_value()) all = std::nullopt;
  }
  return all;
}

}  // namespace ps
