// Whether a process that runs for long needs more and more memory.
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

// Looked at once a second.
struct ProcessMemory {
  std::string name;
  std::vector<MemorySample> samples;  // By time.
};

// The rule: the largest sample of the second half of the load is at most this
// part and so many bytes above the largest one between its first tenth, in
// which buffers reach their sizes, and its half.
constexpr double kFlatPart = 0.02;
constexpr int64_t kFlatBytes = 8 << 20;
// With fewer samples in one of the two the load was too short to say.
constexpr int kFewestSamples = 3;
// The same in words.
constexpr char kFlatRule[] =
    "largest in the second half at most 2 % + 8 MiB above the largest between "
    "the first tenth and the half";

// Bytes; 0 where there is no sample.
struct MemoryGrowth {
  int64_t first = 0;
  int64_t after_tenth = 0;  // The first sample after a tenth of the time.
  int64_t last = 0;
  int64_t largest = 0;
  int64_t largest_before_half = 0;  // From the first tenth on.
  int64_t largest_after_half = 0;
  std::optional<bool> flat;  // Nothing: too short to say.
};

// `seconds`: how long the load took.
MemoryGrowth GrowthOf(const ProcessMemory& memory, double seconds);

// Of several: false if one of them is, else nothing if one of them is.
std::optional<bool> AllFlat(const std::vector<ProcessMemory>& processes,
                            double seconds);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_MEMORY_GROWTH_H_
