#include "server/slices/touched_sum.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/types/span.h"
#include "compressors/payload/payload.h"

namespace ps {
namespace {

// A payload, up to its next element.
struct Source {
  explicit Source(const PayloadPieces& pieces)
      : reader(pieces), more(reader.Next()) {}

  void NextRun() {
    next = 0;
    more = reader.Next();
  }

  // Calls add(index, value) for all elements before `end`.
  template <typename Add>
  void TakeBelow(int64_t end, const Add& add) {
    while (more) {
      const absl::Span<const uint32_t> indices = reader.indices();
      const absl::Span<const float> values = reader.values();
      for (; next < indices.size() && indices[next] < end; ++next) {
        add(indices[next], values[next]);
      }
      if (next < indices.size()) return;
      NextRun();
    }
  }

  SparsePayloadReader reader;
  bool more;
  size_t next = 0;  // In the reader's run.
};

// Returns the lowest index that is left, or -1.
int64_t NextIndex(const std::vector<Source>& sources) {
  int64_t lowest = -1;
  for (const Source& source : sources) {
    if (!source.more) continue;
    const int64_t index = source.reader.indices()[source.next];
    if (lowest < 0 || index < lowest) lowest = index;
  }
  return lowest;
}

// Whether the next run of all sources has the same indices.
bool HaveEqualRuns(const std::vector<Source>& sources) {
  return !sources.empty() && sources[0].more &&
         std::all_of(sources.begin() + 1, sources.end(), [&](const Source& s) {
           return s.reader.indices() == sources[0].reader.indices();
         });
}

}  // namespace

void TouchedSum::Sum(const std::vector<const PayloadPieces*>& payloads,
                     int64_t dense_size, std::vector<uint32_t>* indices,
                     std::vector<float>* sums, std::vector<int>* counts) {
  std::vector<Source> sources;
  for (const PayloadPieces* payload : payloads) sources.emplace_back(*payload);
  size_t n = 0;
  const auto resize = [&](size_t size) {
    indices->resize(size);
    sums->resize(size);
    if (counts != nullptr) counts->resize(size);
  };
  // Payloads with the same positions, or a single one, are added up run by run.
  while (HaveEqualRuns(sources)) {
    const absl::Span<const uint32_t> run = sources[0].reader.indices();
    resize(n + run.size());
    std::copy(run.begin(), run.end(), indices->begin() + n);
    float* const sum = sums->data() + n;
    std::fill_n(sum, run.size(), 0.0f);
    if (counts != nullptr) {
      std::fill_n(counts->begin() + n, run.size(), sources.size());
    }
    n += run.size();
    for (Source& source : sources) {
      const absl::Span<const float> values = source.reader.values();
      for (size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
      source.NextRun();
    }
  }
  // Others, block by block.
  const int64_t block = std::min(kBlock, dense_size);
  touched_.Reset(block);
  if (block > static_cast<int64_t>(sums_.size())) sums_.resize(block);
  if (counts != nullptr) counts_.resize(sums_.size());
  for (int64_t begin; (begin = NextIndex(sources)) >= 0;) {
    size_t most = n;
    for (Source& source : sources) {
      source.TakeBelow(begin + kBlock, [&](uint32_t index, float value) {
        const uint32_t place = index - static_cast<uint32_t>(begin);
        sums_[place] += value;
        if (counts != nullptr) ++counts_[place];
        touched_.Add(place);
        ++most;
      });
    }
    resize(most);
    touched_.Take([&](uint32_t place) {
      (*indices)[n] = static_cast<uint32_t>(begin) + place;
      (*sums)[n] = std::exchange(sums_[place], 0.0f);
      if (counts != nullptr) (*counts)[n] = std::exchange(counts_[place], 0);
      ++n;
    });
  }
  resize(n);
}

}  // namespace ps
