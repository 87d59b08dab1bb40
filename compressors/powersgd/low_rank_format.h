// The bytes that PowerSGD sends: pieces of matrices, each either as factors or
// unchanged, whichever is shorter.
//
//     values := piece*
//     piece  := rank u32, length u32, body
//     body   := f32 for each of length values                    if rank is 0
//             | cols u32, first u32, Q^T f32, P f32              otherwise
//
// A piece is a run of the elements of a matrix with `cols` columns, row by row,
// that begins in column `first`. Q^T is [rank, cols]; P is [rows, rank] for the
// rows that the run touches.
#ifndef COMPRESSORS_POWERSGD_LOW_RANK_FORMAT_H_
#define COMPRESSORS_POWERSGD_LOW_RANK_FORMAT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compressors/powersgd/low_rank_factors.h"

namespace ps {

constexpr int kMaxLowRank = 64;

// Appends elements [begin, end) of the product, row by row; at least one.
void AppendLowRankPiece(const LowRankFactors& factors, int64_t begin,
                        int64_t end, std::vector<uint8_t>* bytes);

// Appends values, at least one, unchanged.
void AppendPlainPiece(absl::Span<const float> values,
                      std::vector<uint8_t>* bytes);

}  // namespace ps

#endif  // COMPRESSORS_POWERSGD_LOW_RANK_FORMAT_H_
