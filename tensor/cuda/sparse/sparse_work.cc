#include "tensor/cuda/sparse/sparse_work.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/status_macros.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {

absl::StatusOr<std::unique_ptr<SparseWork>> SparseWork::Create(
    CudaStreams* streams, std::shared_ptr<MemoryRegion> memory) {
  auto work =
      std::unique_ptr<SparseWork>(new SparseWork(streams, std::move(memory)));
  PS_ASSIGN_OR_RETURN(work->device_,
                      AllocateArray<DeviceScratch>(
                          work->memory_, 1, "scratch of the sparse kernels"));
  PS_ASSIGN_OR_RETURN(
      work->pinned_, AllocatePinnedMemory(sizeof(HostScratch), work->stream()));
  work->host_ = static_cast<HostScratch*>(work->pinned_.get());
  return work;
}

absl::Status SparseWork::Begin() const {
  PS_RETURN_IF_ERROR(streams_->MakeCurrent());
  return streams_->OrderAfterLayers(stream());
}

absl::Status SparseWork::End() const {
  return streams_->OrderLayersAfterCompression();
}

template <class T>
absl::Status SparseWork::ToHost(const T* device, int64_t count, T* host) const {
  PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(host, device, count * sizeof(T),
                                          cudaMemcpyDeviceToHost, stream()));
  return absl::OkStatus();
}

template <class T>
absl::Status SparseWork::ToDevice(const T* host, int64_t count,
                                  T* device) const {
  PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(device, host, count * sizeof(T),
                                          cudaMemcpyHostToDevice, stream()));
  return absl::OkStatus();
}

absl::StatusOr<ChunkStats> SparseWork::Sift(SiftArguments arguments) {
  const int64_t n = arguments.input.n;
  if (n == 0) return ChunkStats();
  arguments.stats = device_->stats;
  PS_RETURN_IF_CUDA_ERROR(LaunchSift(arguments, stream()));
  PS_RETURN_IF_CUDA_ERROR(LaunchFold(device_->stats, NumSparseChunks(n),
                                     &device_->total, stream()));
  PS_RETURN_IF_ERROR(ToHost(&device_->total, 1, &host_->total));
  PS_RETURN_IF_ERROR(streams_->Await(stream()));
  return host_->total;
}

absl::Status SparseWork::QueueCounts(const SparseInput& input,
                                     const MagnitudeRange& wanted) {
  SiftArguments count;
  count.input = input;
  count.counted = wanted;
  count.stats = device_->stats;
  PS_RETURN_IF_CUDA_ERROR(LaunchSift(count, stream()));
  PS_RETURN_IF_CUDA_ERROR(LaunchScan(device_->stats, NumSparseChunks(input.n),
                                     device_->bases, stream()));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SparseWork::SelectInPlace(const SparseInput& input,
                                                  const MagnitudeRange& wanted,
                                                  int64_t capacity,
                                                  uint32_t* indices,
                                                  float* values) {
  if (input.n == 0) return 0;
  PS_RETURN_IF_ERROR(QueueCounts(input, wanted));
  SelectArguments select;
  select.input = input;
  select.wanted = wanted;
  select.bases = device_->bases;
  select.end_rank = capacity;
  select.indices = indices;
  select.values = values;
  PS_RETURN_IF_CUDA_ERROR(LaunchSelect(select, stream()));
  PS_RETURN_IF_ERROR(
      ToHost(device_->bases + NumSparseChunks(input.n), 1, &host_->count));
  PS_RETURN_IF_ERROR(streams_->Await(stream()));
  return host_->count;
}

absl::Status SparseWork::Select(const SparseInput& input,
                                const MagnitudeRange& wanted, int64_t limit,
                                Selection* selection) {
  selection->clear();
  if (input.n == 0 || limit <= 0) return absl::OkStatus();
  const int64_t num_chunks = NumSparseChunks(input.n);
  PS_RETURN_IF_ERROR(QueueCounts(input, wanted));
  PS_RETURN_IF_ERROR(ToHost(device_->bases + num_chunks, 1, &host_->count));
  PS_RETURN_IF_ERROR(streams_->Await(stream()));
  const int64_t size = std::min(limit, host_->count);
  selection->indices.resize(size);
  selection->values.resize(size);

  SelectArguments select;
  select.input = input;
  select.wanted = wanted;
  select.bases = device_->bases;
  for (int64_t begin = 0; begin < size; begin += kPiece) {
    select.first_rank = begin;
    select.end_rank = std::min(size, begin + kPiece);
    const int64_t here = select.end_rank - begin;
    select.indices = device_->piece.indices();
    select.values = device_->piece.values(here);
    PS_RETURN_IF_CUDA_ERROR(LaunchSelect(select, stream()));
    PS_RETURN_IF_ERROR(
        ToHost(device_->piece.words, 2 * here, host_->piece.words));
    PS_RETURN_IF_ERROR(streams_->Await(stream()));
    std::copy_n(host_->piece.indices(), here,
                selection->indices.begin() + begin);
    std::copy_n(host_->piece.values(here), here,
                selection->values.begin() + begin);
  }
  return absl::OkStatus();
}

absl::Status SparseWork::SumLogs(const float* u, int64_t n, double* sum) {
  *sum = 0;
  constexpr int64_t kPart = kProductChunks * kSparseChunk;
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t size = std::min(kPart, n - begin);
    const int64_t num_chunks = NumSparseChunks(size);
    PS_RETURN_IF_CUDA_ERROR(
        LaunchMultiply(u + begin, size, device_->products, stream()));
    PS_RETURN_IF_ERROR(ToHost(device_->products, num_chunks, host_->products));
    PS_RETURN_IF_ERROR(streams_->Await(stream()));
    for (int64_t c = 0; c < num_chunks; ++c) {
      *sum += SumOfLogs(host_->products[c]);
    }
  }
  return absl::OkStatus();
}

absl::Status SparseWork::Count(HistogramArguments arguments,
                               std::vector<int64_t>* counts) {
  counts->assign(kHistogramBins, 0);
  if (arguments.num_samples == 0) return absl::OkStatus();
  arguments.counts = device_->bins;
  PS_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(device_->bins, 0, sizeof(device_->bins), stream()));
  PS_RETURN_IF_CUDA_ERROR(LaunchHistogram(arguments, stream()));
  PS_RETURN_IF_ERROR(ToHost(device_->bins, kHistogramBins, host_->bins));
  PS_RETURN_IF_ERROR(streams_->Await(stream()));
  std::copy_n(host_->bins, kHistogramBins, counts->begin());
  return absl::OkStatus();
}

absl::Status SparseWork::Gather(const float* u, Selection* selection) {
  selection->values.resize(selection->size());
  for (int64_t begin = 0; begin < selection->size(); begin += kPiece) {
    const int64_t here = std::min(kPiece, selection->size() - begin);
    std::copy_n(selection->indices.begin() + begin, here,
                host_->piece.indices());
    PS_RETURN_IF_ERROR(
        ToDevice(host_->piece.indices(), here, device_->piece.indices()));
    float* const gathered = device_->piece.values(here);
    PS_RETURN_IF_CUDA_ERROR(
        LaunchGather({u, device_->piece.indices(), gathered}, here, stream()));
    PS_RETURN_IF_ERROR(ToHost(gathered, here, host_->piece.values(here)));
    PS_RETURN_IF_ERROR(streams_->Await(stream()));
    std::copy_n(host_->piece.values(here), here,
                selection->values.begin() + begin);
  }
  return absl::OkStatus();
}

absl::Status SparseWork::GatherTo(const float* u,
                                  const std::vector<uint32_t>& indices,
                                  float* out) {
  const int64_t size = static_cast<int64_t>(indices.size());
  for (int64_t begin = 0; begin < size; begin += kPiece) {
    const int64_t here = std::min(kPiece, size - begin);
    std::copy_n(indices.begin() + begin, here, host_->piece.indices());
    PS_RETURN_IF_ERROR(
        ToDevice(host_->piece.indices(), here, device_->piece.indices()));
    PS_RETURN_IF_CUDA_ERROR(LaunchGather(
        {u, device_->piece.indices(), out + begin}, here, stream()));
    // The host's scratch must not be written again before it has been read.
    PS_RETURN_IF_ERROR(streams_->Await(stream()));
  }
  return absl::OkStatus();
}

template <class Launch>
absl::Status SparseWork::ForEachPiece(const Selection& selection,
                                      const Launch& launch) {
  for (int64_t begin = 0; begin < selection.size(); begin += kPiece) {
    const int64_t here = std::min(kPiece, selection.size() - begin);
    std::copy_n(selection.indices.begin() + begin, here,
                host_->piece.indices());
    std::copy_n(selection.values.begin() + begin, here,
                host_->piece.values(here));
    PS_RETURN_IF_ERROR(
        ToDevice(host_->piece.words, 2 * here, device_->piece.words));
    PS_RETURN_IF_ERROR(
        launch(device_->piece.indices(), device_->piece.values(here), here));
    // The host's scratch must not be written again before it has been read.
    PS_RETURN_IF_ERROR(streams_->Await(stream()));
  }
  return absl::OkStatus();
}

absl::Status SparseWork::Scatter(const Selection& selection, float* u) {
  return ForEachPiece(selection,
                      [&](const uint32_t* indices, const float* values,
                          int64_t size) -> absl::Status {
                        PS_RETURN_IF_CUDA_ERROR(LaunchScatter(
                            {indices, values, u}, size, stream()));
                        return absl::OkStatus();
                      });
}

absl::Status SparseWork::AddAt(const Selection& selection, float* u) {
  return ForEachPiece(selection,
                      [&](const uint32_t* indices, const float* values,
                          int64_t size) -> absl::Status {
                        PS_RETURN_IF_CUDA_ERROR(
                            LaunchAddAt({indices, values, u}, size, stream()));
                        return absl::OkStatus();
                      });
}

}  // namespace ps
