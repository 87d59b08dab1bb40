#include "server/touched_sum.h"

#include <algorithm>

#include "absl/types/span.h"
#include "compressors/payload.h"

namespace ps {
namespace {

constexpr int64_t kBits = 64;

int64_t Words(int64_t bits) { return (bits + kBits - 1) / kBits; }

// Calls visit(i) for every bit i of `word`, ascending, counted from `base`.
template <typename Visit>
void ForEachBit(uint64_t word, int64_t base, const Visit& visit) {
  for (; word != 0; word &= word - 1) visit(base + __builtin_ctzll(word));
}

}  // namespace

void TouchedSum::Reset(int64_t num_elements) {
  // Growing only: what is there is 0.
  if (num_elements <= static_cast<int64_t>(sums_.size())) return;
  sums_.resize(num_elements);
  touched_.resize(Words(num_elements));
  words_.resize(Words(touched_.size()));
}

void TouchedSum::Add(const PayloadPieces& pieces) {
  VisitPayload(pieces, [this](absl::Span<const uint32_t> indices,
                              absl::Span<const float> values) {
    for (size_t i = 0; i < indices.size(); ++i) {
      const uint32_t index = indices[i];
      sums_[index] += values[i];
      const uint32_t word = index / kBits;
      touched_[word] |= uint64_t{1} << (index % kBits);
      words_[word / kBits] |= uint64_t{1} << (word % kBits);
    }
    count_ += indices.size();
  });
}

void TouchedSum::Take(std::vector<uint32_t>* indices,
                      std::vector<float>* sums) {
  indices->clear();
  indices->reserve(
      std::min<int64_t>(count_, static_cast<int64_t>(sums_.size())));
  for (size_t w = 0; w < words_.size(); ++w) {
    ForEachBit(words_[w], w * kBits, [&](int64_t word) {
      ForEachBit(touched_[word], word * kBits, [&](int64_t index) {
        indices->push_back(static_cast<uint32_t>(index));
      });
      touched_[word] = 0;
    });
    words_[w] = 0;
  }
  sums->resize(indices->size());
  for (size_t i = 0; i < indices->size(); ++i) {
    float& sum = sums_[(*indices)[i]];
    (*sums)[i] = sum;
    sum = 0;
  }
  count_ = 0;
}

}  // namespace ps
