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

  // Calls add(index, value) for all elements before `end`.
  template <typename Add>
  void TakeBelow(int64_t end, const Add& add) {
    while (more) {
      const absl::Span<const uint32_t> indices = reader.indices();
      const absl::Span<const float> values = reader.values();
      const size_t stop =
          indices.back() < end
              ? indices.size()
              : std::lower_bound(indices.begin() + next, indices.end(), end) -
                    indices.begin();
      for (; next < stop; ++next) add(indices[next], values[next]);
      if (next < indices.size()) return;
      next = 0;
      more = reader.Next();
    }
  }

  SparsePayloadReader reader;
  bool more;
  size_t next = 0;  // In the reader's run.
};

}  // namespace

void TouchedSum::Sum(const std::vector<const PayloadPieces*>& payloads,
                     int64_t dense_size, std::vector<uint32_t>* indices,
                     std::vector<float>* sums, std::vector<int>* counts) {
  indices->clear();
  sums->clear();
  if (counts != nullptr) counts->clear();
  if (payloads.size() == 1) {
    DecodePayload(*payloads[0], indices, sums);
    // As in a sum: 0 for a negative 0.
    for (float& sum : *sums) sum += 0.0f;
    if (counts != nullptr) counts->assign(sums->size(), 1);
  } else if (counts == nullptr) {
    SumBlocks<false>(payloads, dense_size, indices, sums, nullptr);
  } else {
    SumBlocks<true>(payloads, dense_size, indices, sums, counts);
  }
}

template <bool kCounts>
void TouchedSum::SumBlocks(const std::vector<const PayloadPieces*>& payloads,
                           int64_t dense_size, std::vector<uint32_t>* indices,
                           std::vector<float>* sums, std::vector<int>* counts) {
  std::vector<Source> sources;
  for (const PayloadPieces* payload : payloads) sources.emplace_back(*payload);
  const int64_t block = std::min(kBlock, dense_size);
  touched_.Reset(block);
  if (block > static_cast<int64_t>(sums_.size())) sums_.resize(block);
  if (kCounts) counts_.resize(sums_.size());
  for (int64_t begin = 0; begin < dense_size; begin += kBlock) {
    for (Source& source : sources) {
      source.TakeBelow(begin + kBlock, [&](uint32_t index, float value) {
        const uint32_t place = index - static_cast<uint32_t>(begin);
        sums_[place] += value;
        if (kCounts) ++counts_[place];
        touched_.Add(place);
      });
    }
    touched_.Take([&](uint32_t place) {
      indices->push_back(static_cast<uint32_t>(begin) + place);
      sums->push_back(sums_[place]);
      sums_[place] = 0;
      if (kCounts) counts->push_back(std::exchange(counts_[place], 0));
    });
  }
}

}  // namespace ps
