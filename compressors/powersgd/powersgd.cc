// PowerSGD: Vogels, Karimireddy, Jaggi, "PowerSGD: Practical Low-Rank Gradient
// Compression for Distributed Optimization", NeurIPS 2019.
//
// Every worker sends the factors of its own matrix, found by one step of power
// iteration that starts from the result of the last step, and the server adds
// up the products. The paper's workers agree on one P and one Q in two rounds
// of averaging, which does not fit a push without an answer in between;
// docs/compressors.md describes what that changes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/powersgd/low_rank_factors.h"
#include "compressors/powersgd/low_rank_format.h"
#include "compressors/tensorwise.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

// A tensor as a matrix, first dimension by all others, and the data to send.
struct Matrix {
  TensorRange range;
  // The factors. rank 0: always sent unchanged. q also starts the next step.
  LowRankFactors factors;
  // The values to send instead of the factors; empty if the factors are sent.
  std::vector<float> plain;
};

Matrix MakeMatrix(TensorRange range, const PowerSgdConfig& config) {
  Matrix matrix;
  matrix.range = std::move(range);
  if (matrix.range.shape.size() < 2) return matrix;
  LowRankFactors& factors = matrix.factors;
  factors.rows = matrix.range.shape[0];
  factors.cols = matrix.range.size() / factors.rows;
  const double sent =
      static_cast<double>(factors.rows + factors.cols) * config.rank();
  if (sent * config.min_compression_rate() <
      static_cast<double>(matrix.range.size())) {
    factors.rank = config.rank();
    factors.q.resize(factors.rank * factors.cols);
  }
  return matrix;
}

class PowerSgdCoder final : public TensorCoder {
 public:
  explicit PowerSgdCoder(const CompressorOptions& options)
      : random_key_(
            RandomKey(options.seed, static_cast<uint64_t>(options.bucket))),
        backend_(options.backend) {
    for (TensorRange& range : TensorRanges(options)) {
      matrices_.push_back(
          MakeMatrix(std::move(range), options.config.powersgd()));
    }
  }

  IndexCode index_code() const override { return IndexCode::kDense; }
  ValueCode value_code() const override { return ValueCode::kLowRank; }

  absl::Status Decide(const TensorwiseInput& input, Tensor* u,
                      CompressionStats* stats) override {
    for (Matrix& matrix : matrices_) {
      const LowRankFactors& factors = matrix.factors;
      Tensor tensor = u->Slice(matrix.range.begin, matrix.range.end);
      std::vector<float>& m = matrix.plain;
      m.resize(tensor.size());
      PS_RETURN_IF_ERROR(backend_->CopyToHost(tensor, m.data()));
      // No element of a product exceeds the length of the longest column of M.
      const bool overflows =
          factors.rank > 0 && input.moments.max * std::sqrt(factors.rows) >
                                  std::numeric_limits<float>::max() / 4;
      if (overflows) stats->fallback = "overflow";
      if (factors.rank == 0 || overflows) {
        PS_RETURN_IF_ERROR(
            backend_->sparse().Clear(tensor.data(), tensor.size()));
        continue;
      }
      Factorise(&matrix);
      PS_RETURN_IF_ERROR(backend_->CopyFromHost(m.data(), &tensor));
      m.clear();
    }
    return absl::OkStatus();
  }

  int64_t Append(size_t tensor, int64_t begin, int64_t end,
                 std::vector<uint8_t>* bytes) const override {
    const Matrix& matrix = matrices_[tensor];
    if (matrix.plain.empty()) {
      AppendLowRankPiece(matrix.factors, begin, end, bytes);
    } else {
      AppendPlainPiece(absl::MakeSpan(matrix.plain).subspan(begin, end - begin),
                       bytes);
    }
    return end - begin;
  }

  void Save(StateWriter* state) const override {
    state->PutInt(num_draws_);
    for (const Matrix& matrix : matrices_) state->PutFloats(matrix.factors.q);
  }

  absl::Status Load(StateReader* state) override {
    PS_ASSIGN_OR_RETURN(const int64_t num_draws, state->GetInt());
    std::vector<std::vector<float>> loaded;
    for (const Matrix& matrix : matrices_) {
      loaded.emplace_back(matrix.factors.q.size());
      PS_RETURN_IF_ERROR(state->GetFloats(absl::MakeSpan(loaded.back())));
    }
    PS_RETURN_IF_ERROR(state->Finish());
    num_draws_ = num_draws;
    for (size_t i = 0; i < matrices_.size(); ++i) {
      matrices_[i].factors.q = std::move(loaded[i]);
    }
    return absl::OkStatus();
  }

 private:
  // Finds the factors of matrix->plain and leaves the remainder there.
  void Factorise(Matrix* matrix) {
    LowRankFactors& factors = matrix->factors;
    DrawMissing(&factors);
    PowerIteration(matrix->plain.data(), &factors);
    row_.resize(factors.cols);
    for (int64_t i = 0; i < factors.rows; ++i) {
      MultiplyRow(factors.p.data() + i * factors.rank, factors.q.data(),
                  factors.cols, factors.rank, 0, absl::MakeSpan(row_));
      float* const kept = matrix->plain.data() + i * factors.cols;
      for (int64_t j = 0; j < factors.cols; ++j) kept[j] -= row_[j];
    }
  }

  // Draws directions at the start, and where the last matrix had a lower rank:
  // a column of zeros would never change.
  void DrawMissing(LowRankFactors* factors) {
    for (int k = 0; k < factors->rank; ++k) {
      float* const begin = factors->q.data() + k * factors->cols;
      float* const end = begin + factors->cols;
      if (std::any_of(begin, end, [](float x) { return x != 0; })) continue;
      RandomStream random(
          RandomKey(random_key_, static_cast<uint64_t>(num_draws_++)));
      std::generate(begin, end,
                    [&] { return static_cast<float>(random.Normal()); });
    }
  }

  // The key does not depend on the worker: all workers start with the same
  // directions, as in the paper.
  const uint64_t random_key_;
  int64_t num_draws_ = 0;   // The number of columns drawn so far.
  Backend* const backend_;  // Not owned.
  std::vector<Matrix> matrices_;
  std::vector<float> row_;  // Kept for its memory.
};

absl::StatusOr<std::unique_ptr<Compressor>> NewPowerSgd(
    const CompressorOptions& options) {
  return NewTensorwiseCompressor(options,
                                 std::make_unique<PowerSgdCoder>(options));
}

REGISTER_COMPRESSOR("powersgd",
                    "each matrix as a product of two narrow ones; no ratio",
                    CompressorPlugin(NewPowerSgd).WithOwnCode());

}  // namespace
}  // namespace ps
