#include "tensor/cuda/sparse/cuda_sieve.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/sparse/sparse_rooms.h"

namespace ps {
namespace {

class CudaSieve final : public Sieve {
 public:
  explicit CudaSieve(SparseWork* work) : work_(work) {}

  void Reset(const float* u, int64_t n) override {
    // The sieve writes to it only in ResetToSum.
    u_ = const_cast<float*>(u);
    n_ = n;
    has_lists_ = false;
  }

  absl::Status ResetToSum(const float* residual, const float* gradient,
                          int64_t n, const SieveGuess& guess, float* out,
                          Moments* moments) override {
    Reset(out, n);
    SiftArguments arguments;
    arguments.input = Source(-1);
    arguments.input.residual = residual;
    arguments.input.gradient = gradient;
    arguments.counted = MagnitudeRange::Above(0);
    if (guess.needs_sums) arguments.sum_of = SumOf::kExceedances;
    PS_RETURN_IF_ERROR(
        Sift(arguments, std::isfinite(guess.keep_above), guess.keep_above));
    *moments = MomentsOf(stats_);
    return absl::OkStatus();
  }

  absl::Status MeasureAbove(float location, float keep_above,
                            Exceedances* result) override {
    const bool keep_as_is =
        has_lists_ && location >= kept_above_ && keep_above <= kept_above_;
    SiftArguments arguments;
    arguments.input = Source(location);
    arguments.counted = MagnitudeRange::Above(location);
    arguments.sum_of = SumOf::kExceedances;
    arguments.location = location;
    PS_RETURN_IF_ERROR(Sift(arguments, !keep_as_is, keep_above));
    result->count = stats_.count;
    result->sum = stats_.sum;
    result->sum_squares = stats_.sum_squares;
    return absl::OkStatus();
  }

  absl::Status SelectAbove(float threshold, Selection* selection) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->Select(Source(threshold), MagnitudeRange::Above(threshold),
                         std::numeric_limits<int64_t>::max(), selection);
  }

  absl::StatusOr<std::optional<DeviceSelection>> SelectAboveInPlace(
      float threshold, int64_t capacity) override {
    PS_RETURN_IF_ERROR(selected_.Reserve(
        work_, capacity,
        absl::StrCat("a selection of ", capacity, " elements")));
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_ASSIGN_OR_RETURN(const int64_t count,
                        work_->SelectInPlace(
                            Source(threshold), MagnitudeRange::Above(threshold),
                            capacity, selected_.indices(), selected_.values()));
    if (count > capacity) return std::optional<DeviceSelection>();
    return std::optional<DeviceSelection>(selected_.selection(count));
  }

 private:
  // All elements above `threshold`, with as few others as possible.
  SparseInput Source(float threshold) const {
    SparseInput input;
    input.u = u_;
    input.n = n_;
    input.use_lists = has_lists_ && threshold >= kept_above_;
    input.lists = lists_.lists();
    return input;
  }

  absl::Status Sift(SiftArguments arguments, bool keep, float keep_above) {
    if (keep) {
      PS_RETURN_IF_ERROR(lists_.Reserve(
          work_, n_,
          absl::StrCat("lists of elements kept from ", n_, " elements")));
    }
    arguments.keep = keep;
    arguments.kept = MagnitudeRange::Above(keep_above);
    arguments.made = lists_.lists();
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_ASSIGN_OR_RETURN(stats_, work_->Sift(arguments));
    if (keep) {
      has_lists_ = true;
      kept_above_ = keep_above;
    }
    return absl::OkStatus();
  }

  SparseWork* const work_;  // Not owned.
  float* u_ = nullptr;
  int64_t n_ = 0;
  // Whether lists_ has all elements above kept_above_, except for chunks with
  // too many of them.
  bool has_lists_ = false;
  float kept_above_ = 0;
  ChunkStats stats_;  // From the latest pass.
  ListRoom lists_;
  SelectionRoom selected_;
};

}  // namespace

Moments MomentsOf(const ChunkStats& stats) {
  Moments moments;
  moments.num_nonzero = stats.count;
  moments.num_non_finite = stats.num_non_finite;
  moments.sum = stats.sum;
  moments.sum_squares = stats.sum_squares;
  moments.max = MagnitudeFromBits(stats.max_bits);
  moments.min_nonzero = MagnitudeFromBits(stats.min_bits_less_one + 1);
  return moments;
}

std::unique_ptr<Sieve> NewCudaSieve(SparseWork* work) {
  return std::make_unique<CudaSieve>(work);
}

}  // namespace ps
