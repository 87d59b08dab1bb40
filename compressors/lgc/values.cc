#include "compressors/lgc/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compressors/scalecom/tensor_rates.h"

namespace ps {

int64_t MostCodedValues(const CompressorConfig& config, int64_t num_elements) {
  constexpr int64_t kFewChunks = 32;
  double share = config.ratio();
  if (config.scalecom().rates() == ScaleComConfig::BY_USES) {
    const int64_t most_uses = std::numeric_limits<int64_t>::max();
    share = std::max(share, 1.0 / static_cast<double>(RateForUses(most_uses)));
  }
  return static_cast<int64_t>(2 * share * static_cast<double>(num_elements)) +
         kFewChunks;
}

int64_t NumValues(absl::Span<const ValueRange> ranges) {
  int64_t count = 0;
  for (const ValueRange& range : ranges) count += range.end - range.begin;
  return count;
}

std::vector<bool> Signs(absl::Span<const ValueRange> ranges,
                        absl::Span<const float> values) {
  std::vector<bool> signs;
  for (const ValueRange& range : ranges) {
    for (uint32_t i = range.begin; i < range.end; ++i) {
      signs.push_back(values[i] >= 0);
    }
  }
  return signs;
}

std::vector<uint32_t> OrderOf(absl::Span<const ValueRange> ranges,
                              const std::vector<bool>& signs) {
  std::vector<uint32_t> order;
  std::vector<uint32_t> negative;
  size_t at = 0;
  for (const ValueRange& range : ranges) {
    negative.clear();
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const bool first = signs.empty() || signs[at++];
      (first ? order : negative).push_back(i);
    }
    order.insert(order.end(), negative.begin(), negative.end());
  }
  return order;
}

std::vector<float> Ordered(absl::Span<const uint32_t> order,
                           absl::Span<const float> values, float scale) {
  std::vector<float> x;
  x.reserve(order.size());
  for (const uint32_t i : order) x.push_back(values[i] / scale);
  return x;
}

float Rms(absl::Span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return values.empty() ? 0.0f
                        : static_cast<float>(std::sqrt(
                              sum / static_cast<double>(values.size())));
}

std::vector<uint32_t> LargestPlaces(absl::Span<const float> values,
                                    double share) {
  const auto count =
      std::min(values.size(), static_cast<size_t>(std::ceil(
                                  share * static_cast<double>(values.size()))));
  std::vector<uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0u);
  const auto larger = [values](uint32_t a, uint32_t b) {
    const float x = std::fabs(values[a]);
    const float y = std::fabs(values[b]);
    return x != y ? x > y : a < b;
  };
  std::partial_sort(places.begin(), places.begin() + count, places.end(),
                    larger);
  places.resize(count);
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<float> AtPlaces(absl::Span<const float> values,
                            absl::Span<const uint32_t> places) {
  std::vector<float> result(values.size(), 0.0f);
  for (const uint32_t place : places) result[place] = values[place];
  return result;
}

}  // namespace ps
