// Sparse sums compared with plain ones.
#include "server/slices/touched_sum.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Owns the memory to which Pieces points.
struct Sparse {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  PayloadBuffer bytes;

  PayloadPieces Pieces() const { return {bytes.span()}; }
};

Sparse MakeSparse(std::vector<uint32_t> indices, std::vector<float> values,
                  int64_t num_elements) {
  Sparse sparse{std::move(indices), std::move(values), {}};
  sparse.bytes = EncodeSparse("auto", sparse.indices, sparse.values,
                              /*begin=*/0, num_elements)
                     .value();
  return sparse;
}

TEST(TouchedSum, AddsInOrderAndForgets) {
  TouchedSum sum;
  const Sparse first = MakeSparse({3, 64, 299}, {1e8f, 1, 2}, 300);
  const Sparse second = MakeSparse({3, 128}, {1, 5}, 300);
  const Sparse third = MakeSparse({3, 64}, {-1e8f, -1}, 300);
  const PayloadPieces pieces[] = {first.Pieces(), second.Pieces(),
                                  third.Pieces()};
  std::vector<uint32_t> indices = {7};
  std::vector<float> values;
  sum.Sum({&pieces[0], &pieces[1], &pieces[2]}, 300, &indices, &values);
  EXPECT_THAT(indices, ElementsAre(3, 64, 128, 299));
  // 1e8 + 1 rounds to 1e8. Elements whose sum is 0 were touched as well.
  EXPECT_THAT(values, ElementsAre(0, 0, 5, 2));
  std::vector<int> counts = {7};
  sum.Sum({&pieces[0], &pieces[1], &pieces[2]}, 300, &indices, &values,
          &counts);
  EXPECT_THAT(values, ElementsAre(0, 0, 5, 2));
  EXPECT_THAT(counts, ElementsAre(3, 2, 1, 1));
  sum.Sum({&pieces[1]}, 300, &indices, &values, &counts);
  EXPECT_THAT(counts, ElementsAre(1, 1));
  sum.Sum({&pieces[1]}, 300, &indices, &values);
  EXPECT_THAT(indices, ElementsAre(3, 128));
  EXPECT_THAT(values, ElementsAre(1, 5));
  sum.Sum({}, 300, &indices, &values);
  EXPECT_THAT(indices, IsEmpty());
  EXPECT_THAT(values, IsEmpty());
}

// Compares the sum of four payloads, which have the same positions below
// shared_below, with a plain one.
void ExpectPlainSum(int64_t n, int64_t shared_below, TouchedSum* sum) {
  std::mt19937_64 random(static_cast<uint64_t>(n));
  std::normal_distribution<float> normal;
  std::vector<float> plain(n, 0.0f);
  std::vector<int> senders(n, 0);
  std::set<uint32_t> touched;
  std::set<uint32_t> shared;
  std::vector<Sparse> sparse;
  for (int rank = 0; rank < 4; ++rank) {
    std::set<uint32_t> mine = shared;
    for (int64_t i = 0; i < 1 + n / 50; ++i) {
      const int64_t index = static_cast<int64_t>(random() % n);
      if (rank == 0 || index >= shared_below) mine.insert(index);
    }
    if (rank == 0) shared = {mine.begin(), mine.lower_bound(shared_below)};
    std::vector<float> values;
    for (const uint32_t index : mine) {
      values.push_back(normal(random));
      plain[index] += values.back();
      ++senders[index];
    }
    touched.insert(mine.begin(), mine.end());
    sparse.push_back(MakeSparse({mine.begin(), mine.end()}, values, n));
  }
  std::vector<PayloadPieces> pieces;
  for (const Sparse& each : sparse) pieces.push_back(each.Pieces());
  std::vector<const PayloadPieces*> payloads;
  for (const PayloadPieces& each : pieces) payloads.push_back(&each);
  std::vector<uint32_t> indices;
  std::vector<float> values;
  std::vector<int> counts;
  sum->Sum(payloads, n, &indices, &values, &counts);
  EXPECT_EQ(indices, std::vector<uint32_t>(touched.begin(), touched.end()));
  ASSERT_EQ(counts.size(), indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    ASSERT_EQ(values[i], plain[indices[i]]) << indices[i];
    ASSERT_EQ(counts[i], senders[indices[i]]) << indices[i];
  }
  std::vector<float> without_counts;
  sum->Sum(payloads, n, &indices, &without_counts);
  EXPECT_EQ(without_counts, values);
}

TEST(TouchedSum, EqualsAPlainSumForSlicesOfAnySize) {
  TouchedSum sum;
  for (const int64_t n :
       {1, 63, 64, 65, 4096, 4097, 100000, 70, 131072, 131073, 1000000, 8193}) {
    for (const int64_t shared_below : {int64_t{0}, n / 2, n}) {
      SCOPED_TRACE(absl::StrCat(shared_below, " of ", n));
      ExpectPlainSum(n, shared_below, &sum);
    }
  }
}

// A sum begins with 0, so that a lone -0 is 0.
TEST(TouchedSum, HasNoNegativeZero) {
  TouchedSum sum;
  const Sparse sparse = MakeSparse({2, 5}, {-0.0f, -1}, 9);
  const PayloadPieces pieces = sparse.Pieces();
  std::vector<uint32_t> indices;
  std::vector<float> values;
  for (const size_t copies : {1, 2}) {
    sum.Sum(std::vector<const PayloadPieces*>(copies, &pieces), 9, &indices,
            &values);
    EXPECT_FALSE(std::signbit(values[0]));
    EXPECT_EQ(values[1], -static_cast<float>(copies));
  }
}

}  // namespace
}  // namespace ps
