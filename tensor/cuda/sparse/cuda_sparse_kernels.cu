#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "common/host_device.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/cuda_sparse_kernels.h"
#include "tensor/cuda/sparse/four.h"
#include "tensor/cuda/sparse/passes.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

static_assert(kHistogramBins == MagnitudeBins::kNumBins, "");

// Elements of a selection that are copied between host and device at a time.
constexpr int64_t kPiece = int64_t{1} << 20;

// Some indices, followed by as many values, so that both are copied at once.
struct Piece {
  uint32_t words[2 * kPiece];

  PS_HOST_DEVICE uint32_t* indices() { return words; }
  PS_HOST_DEVICE float* values(int64_t size) {
    return reinterpret_cast<float*>(words + size);
  }
};

// What the host reads, in pinned memory.
struct HostScratch {
  PassTotals totals;
  uint32_t bins[kHistogramBins];
  Piece piece;
};

struct PassArguments {
  PassVector vector;
  PassGoal goal;
  GridScratch* scratch = nullptr;
  HostScratch* host = nullptr;
  // Of what is above goal.cut, the ranks in [first_rank, end_rank) go to
  // host->piece, which has room for them.
  int64_t first_rank = 0;
  int64_t end_rank = 0;
};

__global__ void __launch_bounds__(kPassThreads, kPassBlocksEach)
    PassKernel(const __grid_constant__ PassArguments a) {
  PS_SHARED_MEMORY(PassShared, shared);
  Grid grid(a.scratch, shared);
  Measure(a.vector, nullptr, a.goal, KeptLists(), grid);
  if (blockIdx.x == 0) CopyByBlock(shared->total, &a.host->totals);
  if (a.first_rank == a.end_rank) return;
  PassVector formed = a.vector;
  formed.residual = nullptr;
  const int64_t end = min(a.end_rank, shared->total.count());
  Select(formed, nullptr, a.goal.cut, grid,
         [&](int64_t rank, uint32_t index, float value) {
           if (rank < a.first_rank || rank >= end) return;
           a.host->piece.indices()[rank - a.first_rank] = index;
           a.host->piece.values(end - a.first_rank)[rank - a.first_rank] =
               value;
         });
}

// counts: [kHistogramBins], 0 before.
__global__ void __launch_bounds__(kPassThreads)
    HistogramKernel(const float* u, int64_t num_samples, MagnitudeBins bins,
                    uint32_t* counts) {
  __shared__ uint32_t mine[kHistogramBins];
  for (int b = threadIdx.x; b < kHistogramBins; b += kPassThreads) mine[b] = 0;
  __syncthreads();
  for (int64_t i = int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
       i < num_samples; i += int64_t{gridDim.x} * kPassThreads) {
    // Bits below `low` become a bin that is too high.
    const uint32_t bin =
        (Magnitude(u[i * bins.stride]) - bins.low) >> bins.shift;
    if (bin < kHistogramBins) atomicAdd(&mine[bin], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kHistogramBins; b += kPassThreads) {
    if (mine[b] != 0) atomicAdd(&counts[b], mine[b]);
  }
}

// out = x_scale x + y_scale y; products and sum are each rounded.
struct ScaledSum {
  ScaledVector x;
  ScaledVector y;  // Its data may be null.
  float* out;

  __device__ void operator()(const FourOf& four) const {
    float sum[kFour];
    float more[kFour] = {};
    four.Load(x.data, sum);
    if (y.data != nullptr) four.Load(y.data, more);
#pragma unroll
    for (int k = 0; k < kFour; ++k) {
      sum[k] = __fmul_rn(x.scale, sum[k]);
      if (y.data != nullptr) {
        sum[k] = __fadd_rn(sum[k], __fmul_rn(y.scale, more[k]));
      }
    }
    four.Store(sum, out);
  }
};

cudaError_t LaunchScaledSum(const ScaledVector& x, const ScaledVector& y,
                            int64_t n, float* out, cudaStream_t stream) {
  return LaunchFours(ScaledSum{x, y, out}, n, stream);
}

// Calls body(i) for each of n.
template <class Body>
__global__ void __launch_bounds__(kPassThreads)
    ForEachKernel(Body body, int64_t n) {
  for (int64_t i = int64_t{blockIdx.x} * kPassThreads + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * kPassThreads) {
    body(i);
  }
}

unsigned NumBlocks(int64_t n) {
  return static_cast<unsigned>(
      std::min<int64_t>((n + kPassThreads - 1) / kPassThreads, 4096));
}

template <class Body>
cudaError_t LaunchForEach(const Body& body, int64_t n, cudaStream_t stream) {
  ForEachKernel<<<NumBlocks(n), kPassThreads, 0, stream>>>(body, n);
  return cudaGetLastError();
}

struct GatherOne {
  const float* u;
  const uint32_t* indices;
  float* values;

  __device__ void operator()(int64_t i) const { values[i] = u[indices[i]]; }
};

struct ScatterOne {
  const uint32_t* indices;
  const float* values;
  float* u;

  __device__ void operator()(int64_t i) const {
    u[indices[i]] = values == nullptr ? 0 : values[i];
  }
};

struct AddOne {
  const uint32_t* indices;
  const float* values;
  float* u;

  __device__ void operator()(int64_t i) const { u[indices[i]] += values[i]; }
};

class CudaSparseKernels final : public SparseKernels {
 public:
  CudaSparseKernels(std::unique_ptr<SparseWork> work, int num_host_threads)
      : work_(std::move(work)), threads_(num_host_threads) {}

  absl::Status Allocate() {
    PS_RETURN_IF_ERROR(host_.Reserve(work_.get(), 1));
    return piece_.Reserve(work_.get(), 1, "scratch of the sparse kernels");
  }

  // Runs a pass over a vector of any length and waits for it.
  absl::Status Pass(PassArguments arguments) {
    const int64_t n = arguments.vector.n;
    host_.get()->totals = PassTotals();
    if (n == 0) return absl::OkStatus();
    arguments.scratch = work_->scratch();
    arguments.host = host_.get();
    PS_RETURN_IF_ERROR(work_->Launch(PassKernel, n, arguments));
    return work_->Await();
  }
  const PassTotals& totals() const { return host_.get()->totals; }

  // Replaces `selection` by the first elements that the cut selects.
  absl::Status Select(const float* u, int64_t n, const Cut& cut, int64_t limit,
                      Selection* selection) {
    selection->clear();
    PassArguments pass = Reading(u, n);
    pass.goal.cut = cut;
    int64_t size = limit;
    while (pass.first_rank < size) {
      pass.end_rank = std::min(size, pass.first_rank + kPiece);
      PS_RETURN_IF_ERROR(Pass(pass));
      size = std::min(limit, totals().count());
      selection->indices.resize(size);
      selection->values.resize(size);
      const int64_t here = std::min(size, pass.end_rank) - pass.first_rank;
      Piece& piece = host_.get()->piece;
      std::copy_n(piece.indices(), here,
                  selection->indices.begin() + pass.first_rank);
      std::copy_n(piece.values(here), here,
                  selection->values.begin() + pass.first_rank);
      pass.first_rank = pass.end_rank;
    }
    return absl::OkStatus();
  }

  // Arguments that read the vector itself; `u` is written only if a sum is
  // formed.
  static PassArguments Reading(const float* u, int64_t n) {
    PassArguments pass;
    pass.vector.u = const_cast<float*>(u);
    pass.vector.n = n;
    return pass;
  }

  // Forms out = residual + gradient and measures it.
  absl::Status Form(const float* residual, const float* gradient, int64_t n,
                    bool sums, float* out, Moments* moments) {
    PassArguments pass = Reading(out, n);
    pass.vector.residual = residual;
    pass.vector.gradient = gradient;
    pass.goal.extrema = true;
    pass.goal.exceedances = sums;
    pass.goal.cut = CutAbove(0);
    PS_RETURN_IF_ERROR(Pass(pass));
    *moments = MomentsOf(totals());
    return absl::OkStatus();
  }

  absl::Status AddAndMeasure(const float* residual, const float* gradient,
                             int64_t n, float* out, Moments* moments) override {
    return Form(residual, gradient, n, /*sums=*/true, out, moments);
  }

  absl::Status SumMagnitudes(const float* u, int64_t n,
                             Moments* moments) override {
    PassArguments pass = Reading(u, n);
    pass.goal.exceedances = true;
    pass.goal.cut = CutAbove(0);
    PS_RETURN_IF_ERROR(Pass(pass));
    moments->sum = totals().sum;
    moments->sum_squares = totals().sum_squares;
    return absl::OkStatus();
  }

  absl::Status SumValues(const float* u, int64_t n, double* sum) override {
    PS_RETURN_IF_ERROR(PassOverValues(u, n));
    *sum = totals().sum;
    return absl::OkStatus();
  }

  absl::Status SumLogs(const float* u, int64_t n, double* sum) override {
    PassArguments pass = Reading(u, n);
    pass.goal.logs = true;
    PS_RETURN_IF_ERROR(Pass(pass));
    *sum = totals().sum_logs;
    return absl::OkStatus();
  }

  absl::Status SumSquares(const float* u, int64_t n, double* sum) override {
    PS_RETURN_IF_ERROR(PassOverValues(u, n));
    *sum = totals().sum_squares;
    return absl::OkStatus();
  }

  absl::Status Scale(const ScaledVector& x, int64_t n, float* out) override {
    return AddScaled(x, ScaledVector(), n, out);
  }

  absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                         int64_t n, float* out) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_RETURN_IF_CUDA_ERROR(LaunchScaledSum(x, y, n, out, work_->stream()));
    return work_->End();
  }

  std::unique_ptr<Sieve> NewSieve() override;

  absl::Status CountMagnitudes(const float* u, int64_t n,
                               const MagnitudeBins& bins,
                               std::vector<int64_t>* counts) override {
    counts->assign(kHistogramBins, 0);
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work_->Begin());
    const cudaStream_t stream = work_->stream();
    uint32_t* const on_device = work_->scratch()->histograms[0];
    constexpr size_t kBytes = kHistogramBins * sizeof(uint32_t);
    PS_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(on_device, 0, kBytes, stream));
    const int64_t num_samples = (n + bins.stride - 1) / bins.stride;
    HistogramKernel<<<NumBlocks(num_samples), kPassThreads, 0, stream>>>(
        u, num_samples, bins, on_device);
    PS_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        host_.get()->bins, on_device, kBytes, cudaMemcpyDeviceToHost, stream));
    PS_RETURN_IF_ERROR(work_->Await());
    std::copy_n(host_.get()->bins, kHistogramBins, counts->begin());
    return absl::OkStatus();
  }

  absl::Status SelectEqual(const float* u, int64_t n, float magnitude,
                           int64_t limit, Selection* selection) override {
    Cut cut;
    cut.low = MagnitudeBits(magnitude) - 1;
    cut.width = 1;
    return Select(u, n, cut, limit, selection);
  }

  absl::Status Gather(const float* u, Selection* selection) override {
    selection->values.resize(selection->size());
    return ForEachPiece(
        selection->indices, nullptr,
        [&](const uint32_t* indices, float* values, int64_t begin,
            int64_t size) -> absl::Status {
          PS_RETURN_IF_CUDA_ERROR(LaunchForEach(GatherOne{u, indices, values},
                                                size, work_->stream()));
          float* const gathered = host_.get()->piece.values(size);
          PS_RETURN_IF_CUDA_ERROR(
              cudaMemcpyAsync(gathered, values, size * sizeof(float),
                              cudaMemcpyDeviceToHost, work_->stream()));
          PS_RETURN_IF_ERROR(work_->Await());
          std::copy_n(gathered, size, selection->values.begin() + begin);
          return absl::OkStatus();
        });
  }

  absl::Status GatherTo(const float* u, const std::vector<uint32_t>& indices,
                        float* out) override {
    return ForEachPiece(
        indices, nullptr,
        [&](const uint32_t* piece, float*, int64_t begin,
            int64_t size) -> absl::Status {
          PS_RETURN_IF_CUDA_ERROR(LaunchForEach(
              GatherOne{u, piece, out + begin}, size, work_->stream()));
          return absl::OkStatus();
        });
  }

  absl::Status Scatter(const Selection& selection, float* u) override {
    return ForEachPiece(selection.indices, selection.values.data(),
                        [&](const uint32_t* indices, float* values, int64_t,
                            int64_t size) -> absl::Status {
                          PS_RETURN_IF_CUDA_ERROR(LaunchScatter(
                              indices, values, size, u, work_->stream()));
                          return absl::OkStatus();
                        });
  }

  absl::Status AddAt(const Selection& selection, float* u) override {
    return ForEachPiece(
        selection.indices, selection.values.data(),
        [&](const uint32_t* indices, float* values, int64_t,
            int64_t size) -> absl::Status {
          PS_RETURN_IF_CUDA_ERROR(
              LaunchForEach(AddOne{indices, values, u}, size, work_->stream()));
          return absl::OkStatus();
        });
  }

  absl::Status Clear(float* u, int64_t n) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(u, 0, n * sizeof(float), work_->stream()));
    return work_->End();
  }

  SparseWork* device_work() override { return work_.get(); }
  ThreadPool& host_threads() override { return threads_; }

 private:
  absl::Status PassOverValues(const float* u, int64_t n) {
    PassArguments pass = Reading(u, n);
    pass.goal.values = true;
    return Pass(pass);
  }

  // Copies indices, and values unless they are null, to the device piece by
  // piece, and calls queue(indices, values, begin, size) for each, where both
  // have room for `size` elements.
  template <class Queue>
  absl::Status ForEachPiece(const std::vector<uint32_t>& indices,
                            const float* values, const Queue& queue) {
    PS_RETURN_IF_ERROR(work_->Begin());
    const int64_t count = static_cast<int64_t>(indices.size());
    Piece& host = host_.get()->piece;
    Piece* const device = piece_.get();
    for (int64_t begin = 0; begin < count; begin += kPiece) {
      const int64_t size = std::min(kPiece, count - begin);
      std::copy_n(indices.begin() + begin, size, host.indices());
      if (values != nullptr) {
        std::copy_n(values + begin, size, host.values(size));
      }
      PS_RETURN_IF_CUDA_ERROR(
          cudaMemcpyAsync(device, host.words,
                          (values == nullptr ? 1 : 2) * size * sizeof(uint32_t),
                          cudaMemcpyHostToDevice, work_->stream()));
      // As Piece::indices and Piece::values, of an address.
      uint32_t* const words = reinterpret_cast<uint32_t*>(device);
      PS_RETURN_IF_ERROR(
          queue(words, reinterpret_cast<float*>(words + size), begin, size));
      // The host's piece must not be written again before it has been read.
      PS_RETURN_IF_ERROR(work_->Await());
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<SparseWork> work_;
  ThreadPool threads_;
  PinnedRoom<HostScratch> host_;
  DeviceRoom<Piece> piece_;
};

// Keeps nothing aside: each call is a pass over the vector.
class CudaSieve final : public Sieve {
 public:
  explicit CudaSieve(CudaSparseKernels* kernels) : kernels_(kernels) {}

  void Reset(const float* u, int64_t n) override {
    u_ = u;
    n_ = n;
  }

  absl::Status ResetToSum(const float* residual, const float* gradient,
                          int64_t n, const SieveGuess& guess, float* out,
                          Moments* moments) override {
    Reset(out, n);
    return kernels_->Form(residual, gradient, n,
                          guess.sums == SieveGuess::Sums::kMagnitudes, out,
                          moments);
  }

  absl::Status MeasureAbove(float location, float /*keep_above*/,
                            Exceedances* result) override {
    PassArguments pass = CudaSparseKernels::Reading(u_, n_);
    pass.goal.cut = CutAbove(location);
    pass.goal.exceedances = true;
    pass.goal.location = location;
    PS_RETURN_IF_ERROR(kernels_->Pass(pass));
    result->count = kernels_->totals().count();
    result->sum = kernels_->totals().sum;
    result->sum_squares = kernels_->totals().sum_squares;
    return absl::OkStatus();
  }

  absl::Status CountAbove(float location, float keep_above,
                          int64_t* count) override {
    Exceedances result;
    PS_RETURN_IF_ERROR(MeasureAbove(location, keep_above, &result));
    *count = result.count;
    return absl::OkStatus();
  }

  absl::Status SelectAbove(float threshold, Selection* selection) override {
    return kernels_->Select(u_, n_, CutAbove(threshold),
                            std::numeric_limits<int64_t>::max(), selection);
  }

 private:
  CudaSparseKernels* const kernels_;  // Not owned.
  const float* u_ = nullptr;
  int64_t n_ = 0;
};

std::unique_ptr<Sieve> CudaSparseKernels::NewSieve() {
  return std::make_unique<CudaSieve>(this);
}

class CudaVectorKernels final : public VectorKernels {
 public:
  explicit CudaVectorKernels(CudaStreams* streams) : streams_(streams) {}

  absl::Status Scale(const ScaledVector& x, int64_t n, float* out) override {
    return AddScaled(x, ScaledVector(), n, out);
  }

  absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                         int64_t n, float* out) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    PS_RETURN_IF_CUDA_ERROR(LaunchScaledSum(x, y, n, out, streams_->compute()));
    return absl::OkStatus();
  }

  absl::Status Clear(float* u, int64_t n) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(u, 0, n * sizeof(float), streams_->compute()));
    return absl::OkStatus();
  }

 private:
  CudaStreams* const streams_;  // Not owned.
};

}  // namespace

cudaError_t LaunchScatter(const uint32_t* indices, const float* values,
                          int64_t count, float* u, cudaStream_t stream) {
  return LaunchForEach(ScatterOne{indices, values, u}, count, stream);
}

absl::StatusOr<std::unique_ptr<SparseKernels>> NewCudaSparseKernels(
    CudaStreams* streams, std::shared_ptr<MemoryRegion> memory,
    int num_host_threads) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<SparseWork> work,
                      SparseWork::Create(streams, std::move(memory)));
  auto kernels =
      std::make_unique<CudaSparseKernels>(std::move(work), num_host_threads);
  PS_RETURN_IF_ERROR(kernels->Allocate());
  return kernels;
}

std::unique_ptr<VectorKernels> NewCudaVectorKernels(CudaStreams* streams) {
  return std::make_unique<CudaVectorKernels>(streams);
}

}  // namespace ps
