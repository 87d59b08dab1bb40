// Whether a process that runs for a long time needs more and more memory.
#ifndef TOOLS_BENCH_LOAD_MEMORY_GROWTH_H_
#define TOOLS_BENCH_LOAD_MEMORY_GROWTH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ps {

struct MemorySample {
  double seconds = 0;  // Since the load began.
  int64_t bytes = 0;
};

// The memory of one process, sampled once a second.
struct ProcessMemory {
  std::string name;
  std::vector<MemorySample> samples;  // By time.
};

// Memory is flat if the largest sample of the second half of the load exceeds
// the largest sample between the first tenth and the half by at most this part
// plus this number of bytes. In the first tenth buffers grow to their sizes.
constexpr double kFlatPart = 0.02;
constexpr int64_t kFlatBytes = 8 << 20;
// With fewer samples in one of the two periods, the load was too short to tell.
constexpr int kFewestSamples = 3;
// The rule in words.
constexpr char kFlatRule[] =
    "largest in the second half at most 2 % + 8 MiB above the largest between "
    "the first tenth and the half";

// All in bytes; 0 if there is no sample.
struct MemoryGrowth {
  int64_t first = 0;
  int64_t after_tenth = 0;  // The first sample after a tenth of the time.
  int64_t last = 0;
  int64_t largest = 0;
  int64_t largest_before_half = 0;  // From the first tenth on.
  int64_t largest_after_half = 0;
  std::optional<bool> flat;  // No value: too short to tell.
};

// `seconds` is the duration of the load.
MemoryGrowth GrowthOf(const ProcessMemory& memory, double seconds);

// For several processes: false if one of them is not flat, otherwise no value
// if one of them has none.
std::optional<bool> AllFlat(const std::vector<ProcessMemory>& processes,
                            double seconds);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_MEMORY_GROWTH_H_
