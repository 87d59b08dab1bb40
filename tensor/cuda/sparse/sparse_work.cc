#include "tensor/cuda/sparse/sparse_work.h"

#include <algorithm>

#include "tensor/sparse_kernels.h"

namespace ps {
Moments MomentsOf(const PassTotals& totals) {
  Moments moments;
  moments.num_nonzero = totals.num_nonzero;
  moments.num_non_finite = totals.num_non_finite;
  moments.sum = totals.sum;
  moments.sum_squares = totals.sum_squares;
  moments.max = MagnitudeFromBits(totals.max_bits);
  moments.min_nonzero = MagnitudeFromBits(totals.min_bits_less_one + 1);
  return moments;
}

absl::StatusOr<std::unique_ptr<SparseWork>> SparseWork::Create(
    CudaStreams* streams, std::shared_ptr<MemoryRegion> memory) {
  auto work =
      std::unique_ptr<SparseWork>(new SparseWork(streams, std::move(memory)));
  PS_ASSIGN_OR_RETURN(work->scratch_,
                      AllocateArray<GridScratch>(
                          work->memory_, 1, "scratch of the sparse kernels"));
  PS_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(&work->scratch_->barrier, 0,
                                          sizeof(unsigned), work->stream()));
  return work;
}

absl::Status SparseWork::Begin() const {
  PS_RETURN_IF_ERROR(streams_->MakeCurrent());
  return streams_->OrderAfterLayers(stream());
}

absl::Status SparseWork::End() const {
  return streams_->OrderLayersAfterCompression();
}

absl::Status SparseWork::LaunchGrid(const void* kernel, int64_t n,
                                    const void* arguments) {
  PS_RETURN_IF_ERROR(Begin());
  int& max_blocks = max_blocks_[kernel];
  if (max_blocks == 0) {
    int processors = 0;
    PS_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(
        &processors, cudaDevAttrMultiProcessorCount, streams_->device()));
    int each = 0;
    PS_RETURN_IF_CUDA_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &each, kernel, kPassThreads, /*dynamicSMemSize=*/0));
    max_blocks =
        std::min(processors * std::min(each, kPassBlocksEach), kMaxPassBlocks);
  }
  const int64_t busy = (NumSegments(n) + kPassWarps - 1) / kPassWarps;
  void* parameters[] = {const_cast<void*>(arguments)};
  PS_RETURN_IF_CUDA_ERROR(cudaLaunchCooperativeKernel(
      kernel, dim3(static_cast<unsigned>(std::min<int64_t>(max_blocks, busy))),
      dim3(kPassThreads), parameters, /*sharedMem=*/0, stream()));
  return absl::OkStatus();
}

absl::Status SelectionRoom::Reserve(SparseWork* work, int64_t capacity,
                                    int64_t likely, absl::string_view what) {
  work_ = work;
  capacity_ = 0;
  PS_RETURN_IF_ERROR(indices_.Reserve(work, capacity, what));
  PS_RETURN_IF_ERROR(values_.Reserve(work, capacity, what));
  likely = std::min(likely, capacity);
  PS_RETURN_IF_ERROR(host_indices_.Reserve(work, likely));
  PS_RETURN_IF_ERROR(host_values_.Reserve(work, likely));
  capacity_ = capacity;
  return absl::OkStatus();
}

absl::StatusOr<DeviceSelection*> SelectionRoom::Take(int64_t count) {
  if (count > capacity_) return nullptr;
  if (count > host_values_.count()) {
    // A little more, since counts vary.
    const int64_t room = std::min(capacity_, count + count / 4);
    PS_RETURN_IF_ERROR(host_indices_.Reserve(work_, room));
    PS_RETURN_IF_ERROR(host_values_.Reserve(work_, room));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        host_indices_.get(), indices_.get(), count * sizeof(uint32_t),
        cudaMemcpyDeviceToHost, work_->stream()));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        host_values_.get(), values_.get(), count * sizeof(float),
        cudaMemcpyDeviceToHost, work_->stream()));
    PS_RETURN_IF_ERROR(work_->Await());
  }
  indices = {host_indices_.get(), static_cast<size_t>(count)};
  values = {host_values_.get(), static_cast<size_t>(count)};
  return this;
}

absl::Status SelectionRoom::Scatter(bool zeros, float* u) {
  const int64_t count = static_cast<int64_t>(indices.size());
  if (count == 0) return absl::OkStatus();
  PS_RETURN_IF_ERROR(work_->Begin());
  if (!zeros) {
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        values_.get(), host_values_.get(), count * sizeof(float),
        cudaMemcpyHostToDevice, work_->stream()));
  }
  PS_RETURN_IF_CUDA_ERROR(LaunchScatter(indices_.get(),
                                        zeros ? nullptr : values_.get(), count,
                                        u, work_->stream()));
  return work_->End();
}

}  // namespace ps
