#include "tensor/cuda/sparse/cuda_sparse_kernels.h"

#include <utility>

#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/cuda_sieve.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

static_assert(kHistogramBins == MagnitudeBins::kNumBins, "");

class CudaSparseKernels final : public SparseKernels {
 public:
  explicit CudaSparseKernels(std::unique_ptr<SparseWork> work)
      : work_(std::move(work)) {}

  absl::Status AddAndMeasure(const float* residual, const float* gradient,
                             int64_t n, float* out, Moments* moments) override {
    SiftArguments arguments = Reading(out, n);
    arguments.input.residual = residual;
    arguments.input.gradient = gradient;
    arguments.counted = MagnitudeRange::Above(0);
    arguments.sum_of = SumOf::kExceedances;
    PS_ASSIGN_OR_RETURN(const ChunkStats stats, Sift(arguments));
    *moments = MomentsOf(stats);
    return absl::OkStatus();
  }

  absl::Status SumMagnitudes(const float* u, int64_t n,
                             Moments* moments) override {
    // Over location 0 every element is an exceedance or adds 0.
    SiftArguments arguments = Reading(u, n);
    arguments.sum_of = SumOf::kExceedances;
    PS_ASSIGN_OR_RETURN(const ChunkStats stats, Sift(arguments));
    moments->sum = stats.sum;
    moments->sum_squares = stats.sum_squares;
    return absl::OkStatus();
  }

  absl::Status SumValues(const float* u, int64_t n, double* sum) override {
    SiftArguments arguments = Reading(u, n);
    arguments.sum_of = SumOf::kValues;
    PS_ASSIGN_OR_RETURN(const ChunkStats stats, Sift(arguments));
    *sum = stats.sum;
    return absl::OkStatus();
  }

  absl::Status SumLogs(const float* u, int64_t n, double* sum) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->SumLogs(u, n, sum);
  }

  absl::Status SumSquares(const float* u, int64_t n, double* sum) override {
    SiftArguments arguments = Reading(u, n);
    arguments.sum_of = SumOf::kValues;
    PS_ASSIGN_OR_RETURN(const ChunkStats stats, Sift(arguments));
    *sum = stats.sum_squares;
    return absl::OkStatus();
  }

  absl::Status Scale(const ScaledVector& x, int64_t n, float* out) override {
    return AddScaled(x, ScaledVector(), n, out);
  }

  absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                         int64_t n, float* out) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_RETURN_IF_CUDA_ERROR(LaunchScaledSum(
        {x.data, x.scale, y.data, y.scale, out}, n, work_->stream()));
    return work_->End();
  }

  std::unique_ptr<Sieve> NewSieve() override {
    return NewCudaSieve(work_.get());
  }

  absl::Status CountMagnitudes(const float* u, int64_t n,
                               const MagnitudeBins& bins,
                               std::vector<int64_t>* counts) override {
    HistogramArguments arguments;
    arguments.u = u;
    arguments.num_samples = (n + bins.stride - 1) / bins.stride;
    arguments.stride = bins.stride;
    arguments.low = bins.low;
    arguments.shift = bins.shift;
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->Count(arguments, counts);
  }

  absl::Status SelectEqual(const float* u, int64_t n, float magnitude,
                           int64_t limit, Selection* selection) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->Select(Reading(u, n).input, MagnitudeRange::Equal(magnitude),
                         limit, selection);
  }

  absl::Status Gather(const float* u, Selection* selection) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->Gather(u, selection);
  }

  absl::Status GatherTo(const float* u, const std::vector<uint32_t>& indices,
                        float* out) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->GatherTo(u, indices, out);
  }

  absl::Status Scatter(const Selection& selection, float* u) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->Scatter(selection, u);
  }

  absl::Status AddAt(const Selection& selection, float* u) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->AddAt(selection, u);
  }

  absl::Status Clear(float* u, int64_t n) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(u, 0, n * sizeof(float), work_->stream()));
    return work_->End();
  }

  SparseWork* device_work() override { return work_.get(); }

 private:
  // Arguments that read the vector itself; `u` is written only if a sum is
  // formed.
  static SiftArguments Reading(const float* u, int64_t n) {
    SiftArguments arguments;
    arguments.input.u = const_cast<float*>(u);
    arguments.input.n = n;
    return arguments;
  }

  absl::StatusOr<ChunkStats> Sift(const SiftArguments& arguments) {
    PS_RETURN_IF_ERROR(work_->Begin());
    return work_->Sift(arguments);
  }

  const std::unique_ptr<SparseWork> work_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SparseKernels>> NewCudaSparseKernels(
    CudaStreams* streams, std::shared_ptr<MemoryRegion> memory) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<SparseWork> work,
                      SparseWork::Create(streams, std::move(memory)));
  return std::make_unique<CudaSparseKernels>(std::move(work));
}

}  // namespace ps
