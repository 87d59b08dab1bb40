#include "compressors/value_codes/fitted_levels.h"

#include <algorithm>

namespace ps {

std::vector<SampleSums> SumSample(const std::vector<uint64_t>& sample) {
  const int64_t size = static_cast<int64_t>(sample.size());
  std::vector<SampleSums> sums(size + 1);
  SampleSums before;
  for (int64_t begin = 0; begin < size; begin += kSampleRun) {
    before.Add(SumRun(sample.data(), begin, std::min(begin + kSampleRun, size),
                      before, sums.data()));
  }
  sums[size] = before;
  return sums;
}

std::vector<float> FitLevels(std::vector<uint64_t> sample, int s, int sweeps) {
  std::sort(sample.begin(), sample.end());
  const std::vector<SampleSums> sums = SumSample(sample);
  SortedSample sorted;
  sorted.elements = sample.data();
  sorted.sums = sums.data();
  sorted.size = static_cast<int64_t>(sample.size());
  std::vector<float> levels(s + 1);
  DescendLevels(sorted, s, sweeps, levels.data());
  return levels;
}

}  // namespace ps
