#include "tensor/cuda/cuda_backend.h"

#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/cuda_graph.h"
#include "tensor/cuda/cuda_input_upload.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/cuda/sparse/cuda_sparse_kernels.h"

namespace ps {
namespace {

// 4 TiB: more than any device has, and far from where int64_t would overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;

// Elements of `shape`, or -1 if there are too many.
int64_t BoundedNumElements(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) {
    if (extent != 0 && n > kMaxElements / extent) return -1;
    n *= extent;
  }
  return n;
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::unique_ptr<CudaStreams> streams,
              std::shared_ptr<MemoryRegion> memory,
              std::unique_ptr<SparseKernels> sparse, CudaLayers layers)
      : name_(absl::StrCat("cuda:", streams->device())),
        streams_(std::move(streams)),
        memory_(std::move(memory)),
        sparse_(std::move(sparse)),
        vectors_(NewCudaVectorKernels(streams_.get())),
        layers_(std::move(layers)) {}

  // Queued work may still use memory of the members.
  ~CudaBackend() override {
    const absl::Status status = streams_->AwaitEnd();
    if (!status.ok()) LOG(ERROR) << name_ << ": " << status;
  }

  absl::string_view name() const override { return name_; }

  absl::StatusOr<Tensor> Allocate(const Shape& shape) override {
    for (const int64_t extent : shape) {
      if (extent < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "cannot allocate a tensor of shape ", ShapeString(shape)));
      }
    }
    const std::string what =
        absl::StrCat("a tensor of shape ", ShapeString(shape));
    const int64_t n = BoundedNumElements(shape);
    if (n < 0) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for ", what));
    }
    const int64_t size_bytes = n * static_cast<int64_t>(sizeof(float));
    PS_ASSIGN_OR_RETURN(void* const piece, memory_->Allocate(size_bytes, what));
    Tensor tensor(std::shared_ptr<float>(
                      static_cast<float*>(piece),
                      [memory = memory_](float* data) { memory->Free(data); }),
                  shape);
    // Queued work of the memory's previous owner may still use it.
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    PS_RETURN_IF_ERROR(streams_->AwaitAll());
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(tensor.data(), 0, size_bytes, streams_->copies()));
    PS_RETURN_IF_ERROR(streams_->Await(streams_->copies()));
    return tensor;
  }

  absl::Status CopyFromHost(const float* host, Tensor* tensor) override {
    return Copy(host, tensor->size(), cudaMemcpyHostToDevice, tensor->data());
  }

  absl::Status CopyToHost(const Tensor& tensor, float* host) override {
    return Copy(tensor.data(), tensor.size(), cudaMemcpyDeviceToHost, host);
  }

  NnKernels& nn() override {
    CHECK(layers_.nn != nullptr) << name_ << " is only for compressors";
    return *layers_.nn;
  }
  SequenceKernels& sequences() override {
    CHECK(layers_.sequences != nullptr) << name_ << " is only for compressors";
    return *layers_.sequences;
  }
  SparseKernels& sparse() override { return *sparse_; }
  VectorKernels& vectors() override { return *vectors_; }

  absl::StatusOr<std::unique_ptr<InputUpload>> NewInputUpload() override {
    return NewCudaInputUpload(streams_.get(), memory_);
  }

  bool gains_from_recordings() const override { return true; }
  absl::StatusOr<std::unique_ptr<Recording>> Record(
      const std::function<absl::Status()>& work) override {
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    return RecordGraph(streams_->compute(), work);
  }
  int64_t memory_version() const override {
    return layers_.memory_version == nullptr ? 0 : layers_.memory_version();
  }

  bool overlaps_compression() const override { return true; }
  absl::Status StartOverlap() override { return streams_->StartOverlap(); }
  absl::Status EndOverlap() override { return streams_->EndOverlap(); }
  absl::StatusOr<int64_t> Mark() override { return streams_->Mark(); }
  absl::Status CompressAfter(int64_t mark) override {
    return streams_->CompressAfter(mark);
  }

 private:
  absl::Status Copy(const float* from, int64_t n, cudaMemcpyKind kind,
                    float* to) {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    const cudaStream_t copies = streams_->copies();
    PS_RETURN_IF_ERROR(streams_->OrderAfterLayers(copies));
    PS_RETURN_IF_ERROR(streams_->Order(streams_->compression(), copies));
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(to, from, n * sizeof(float), kind, copies));
    // Because the copy is complete, later work on the other streams need not
    // wait.
    return streams_->Await(copies);
  }

  const std::string name_;
  const std::unique_ptr<CudaStreams> streams_;
  const std::shared_ptr<MemoryRegion> memory_;
  const std::unique_ptr<SparseKernels> sparse_;
  const std::unique_ptr<VectorKernels> vectors_;
  const CudaLayers layers_;
};

absl::Status CheckOptions(const CudaBackendOptions& options) {
  if (options.memory_bytes < 0 || options.num_sharers < 1 ||
      options.num_host_threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "memory_bytes is ", options.memory_bytes, ", num_sharers ",
        options.num_sharers, " and num_host_threads ", options.num_host_threads,
        "; must be at least 0, 1 and 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NewCudaBackend(
    const CudaBackendOptions& options) {
  PS_RETURN_IF_ERROR(CheckOptions(options));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<CudaStreams> streams,
                      CudaStreams::Create(options.device));
  int64_t memory_bytes = options.memory_bytes;
  if (memory_bytes == 0) {
    PS_ASSIGN_OR_RETURN(memory_bytes, ShareOfDeviceMemory(options.num_sharers));
  }
  std::shared_ptr<MemoryRegion> memory;
  if (options.separate_allocations) {
    memory = std::make_shared<MemoryRegion>(AllocateDeviceMemory, memory_bytes);
  } else {
    PS_ASSIGN_OR_RETURN(std::shared_ptr<void> base,
                        AllocateDeviceMemory(memory_bytes));
    memory = std::make_shared<MemoryRegion>(std::move(base), memory_bytes);
  }
  PS_ASSIGN_OR_RETURN(
      std::unique_ptr<SparseKernels> sparse,
      NewCudaSparseKernels(streams.get(), memory, options.num_host_threads));
  CudaLayers layers;
  if (options.layers != nullptr) {
    PS_ASSIGN_OR_RETURN(layers, options.layers(*streams, memory));
  }
  return std::make_unique<CudaBackend>(std::move(streams), std::move(memory),
                                       std::move(sparse), std::move(layers));
}

}  // namespace ps
