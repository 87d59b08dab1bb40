#include "compressors/powersgd/low_rank_format.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/payload/append_bytes.h"
#include "compressors/value_codes/value_codec.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr int64_t kBytes = sizeof(float);

// The head of a piece, and the fields at the start of its body.
struct PieceHead {
  int rank = 0;
  int64_t length = 0;
  int64_t cols = 0;
  int64_t first = 0;

  // The number of rows that the piece touches.
  int64_t rows() const { return (first + length + cols - 1) / cols; }
  int64_t num_factors() const { return (rows() + cols) * rank; }
  // Whether factors, with their two fields, are shorter than the values.
  bool pays() const { return num_factors() + 2 < length; }
};

void AppendHead(int rank, int64_t length, std::vector<uint8_t>* bytes) {
  AppendNumber(static_cast<uint32_t>(rank), bytes);
  AppendNumber(static_cast<uint32_t>(length), bytes);
}

// Advances `bytes` past the head and, for factors, the two fields after it.
absl::StatusOr<PieceHead> ReadHead(PieceReader* bytes) {
  uint32_t fields[2] = {};
  if (!bytes->Read(fields, sizeof(fields))) {
    return absl::InvalidArgumentError("low_rank: a piece is cut short");
  }
  if (fields[0] > uint32_t{kMaxLowRank}) {
    return absl::InvalidArgumentError(
        absl::StrCat("low_rank: rank ", fields[0], "; at most ", kMaxLowRank));
  }
  PieceHead head;
  head.rank = static_cast<int>(fields[0]);
  head.length = fields[1];
  if (head.rank == 0) return head;
  if (!bytes->Read(fields, sizeof(fields))) {
    return absl::InvalidArgumentError("low_rank: a piece is cut short");
  }
  head.cols = fields[0];
  head.first = fields[1];
  if (head.first >= head.cols) {
    return absl::InvalidArgumentError(absl::StrCat(
        "low_rank: a piece begins in column ", head.first, " of ", head.cols));
  }
  // Each piece has exactly one encoding, and every factor contributes to some
  // value.
  if (!head.pays()) {
    return absl::InvalidArgumentError(
        absl::StrCat("low_rank: ", head.num_factors(), " factors for ",
                     head.length, " values"));
  }
  return head;
}

// Checks that the pieces fit the bytes and hold `count` values.
absl::Status CheckPieces(int64_t count, PieceReader bytes) {
  while (bytes.remaining() > 0) {
    PS_ASSIGN_OR_RETURN(const PieceHead head, ReadHead(&bytes));
    if (head.length == 0 || head.length > count) {
      return absl::InvalidArgumentError(absl::StrCat("low_rank: a piece of ",
                                                     head.length, " values; ",
                                                     count, " are left"));
    }
    const int64_t numbers = head.rank == 0 ? head.length : head.num_factors();
    if (numbers > bytes.remaining() / kBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("low_rank: a piece of ", numbers, " numbers in ",
                       bytes.remaining(), " bytes"));
    }
    const int64_t body = numbers * kBytes;
    bytes = bytes.Subrange(body, bytes.remaining() - body);
    count -= head.length;
  }
  if (count == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("low_rank: ", count, " values are missing"));
}

// Reads pieces that CheckPieces has accepted.
class LowRankDecoder final : public ValueDecoder {
 public:
  explicit LowRankDecoder(const PieceReader& bytes) : bytes_(bytes) {}

  void Next(absl::Span<float> values) override {
    while (!values.empty()) {
      if (left_ == 0) BeginPiece();
      const int64_t n = std::min<int64_t>(
          values.size(), head_.rank == 0 ? left_ : LeftInRow());
      if (head_.rank == 0) {
        CHECK(bytes_.Read(values.data(), n * kBytes));
      } else {
        MultiplyRow(p_, q_.data(), head_.cols, head_.rank, column_,
                    values.subspan(0, n));
        column_ += n;
      }
      left_ -= n;
      values.remove_prefix(n);
    }
  }

 private:
  void BeginPiece() {
    const absl::StatusOr<PieceHead> head = ReadHead(&bytes_);
    CHECK(head.ok()) << head.status();
    head_ = *head;
    left_ = head_.length;
    if (head_.rank == 0) return;
    // CheckPieces has checked that these bytes exist.
    q_.resize(head_.rank * head_.cols);
    CHECK(bytes_.Read(q_.data(), static_cast<int64_t>(q_.size()) * kBytes));
    ReadRow();
    column_ = head_.first;
  }

  int64_t LeftInRow() {
    if (column_ == head_.cols) ReadRow();
    return std::min(left_, head_.cols - column_);
  }

  void ReadRow() {
    CHECK(bytes_.Read(p_, head_.rank * kBytes));
    column_ = 0;
  }

  PieceReader bytes_;
  PieceHead head_;
  int64_t left_ = 0;      // Values of the piece still to be read.
  std::vector<float> q_;  // [rank, cols]
  float p_[kMaxLowRank];  // The current row.
  int64_t column_ = 0;    // The next column in the row.
};

class LowRankFormat final : public ValueFormat {
 public:
  absl::string_view name() const override { return "low_rank"; }
  ValueCode number() const override { return ValueCode::kLowRank; }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    if (info.index_code != IndexCode::kDense) {
      return absl::InvalidArgumentError(
          "values of low_rank with indices; they have all positions");
    }
    PS_RETURN_IF_ERROR(CheckPieces(info.count, bytes));
    return std::make_unique<LowRankDecoder>(bytes);
  }
};

REGISTER_OWN_VALUE_FORMAT(LowRankFormat);

}  // namespace

void AppendLowRankPiece(const LowRankFactors& factors, int64_t begin,
                        int64_t end, std::vector<uint8_t>* bytes) {
  PieceHead head;
  head.rank = factors.rank;
  head.length = end - begin;
  head.cols = factors.cols;
  head.first = begin % factors.cols;
  const int64_t first_row = begin / factors.cols;
  if (head.pays()) {
    AppendHead(head.rank, head.length, bytes);
    AppendNumber(static_cast<uint32_t>(head.cols), bytes);
    AppendNumber(static_cast<uint32_t>(head.first), bytes);
    AppendBytes(factors.q.data(), factors.q.size(), bytes);
    AppendBytes(factors.p.data() + first_row * head.rank,
                head.rows() * head.rank, bytes);
    return;
  }
  std::vector<float> values(head.length);
  int64_t column = head.first;
  int64_t done = 0;
  for (int64_t row = first_row; done < head.length; ++row) {
    const int64_t n = std::min(head.cols - column, head.length - done);
    MultiplyRow(factors.p.data() + row * head.rank, factors.q.data(), head.cols,
                head.rank, column, absl::MakeSpan(values).subspan(done, n));
    done += n;
    column = 0;
  }
  AppendPlainPiece(values, bytes);
}

void AppendPlainPiece(absl::Span<const float> values,
                      std::vector<uint8_t>* bytes) {
  AppendHead(0, static_cast<int64_t>(values.size()), bytes);
  AppendBytes(values.data(), values.size(), bytes);
}

}  // namespace ps
