#include "compressors/cuda/encoding/device_encoder.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "compressors/cuda/encoding/encode_launch.h"
#include "compressors/cuda/encoding/level_work.h"
#include "compressors/cuda/encoding/packing_of_codes.h"
#include "compressors/cuda/encoding/pinned_blocks.h"
#include "compressors/cuda/encoding/reserve.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

static_assert(kFrontBytes == kPayloadHeaderBytes, "room for the header");

// The size of a window, unless a single payload may take more.
constexpr int64_t kMaxWindowBytes = int64_t{32} << 20;

// The number of blocks that copy to the host: enough for the bus, and few,
// since blocks that wait for the bus keep others from computing.
constexpr int64_t kCopyBlocks = 32;

IndexPacking NoIndices() {
  IndexPacking packing;
  packing.code = IndexCode::kDense;
  return packing;
}

class CudaEncoder final : public DeviceEncoder {
 public:
  CudaEncoder(const PayloadCodes& codes, const ValuePacking& values,
              const IndexPacking& indices, Backend* backend)
      : codes_(codes),
        values_(values),
        indices_(indices),
        work_(backend->sparse().device_work()),
        levels_(values, work_) {}

  absl::StatusOr<std::vector<PayloadBuffer>> EncodeSelected(
      const DeviceSelection& selection,
      absl::Span<const PayloadPart> parts) override {
    Elements elements;
    elements.batch.indices = selection.indices;
    elements.batch.values = selection.values;
    elements.number = {selection.count, selection.device_count};
    elements.max_count = selection.device_count == nullptr ? selection.count
                                                           : selection.capacity;
    elements.indices = indices_;
    return Encode(elements, parts);
  }

  absl::StatusOr<std::vector<PayloadBuffer>> EncodeAll(
      float* u, absl::Span<const PayloadPart> parts) override {
    if (values_.code == ValueCode::kFp32) return CopyAll(u, parts);
    Elements elements;
    elements.batch.values = u;
    for (const PayloadPart& part : parts) {
      elements.max_count += part.end - part.begin;
    }
    elements.indices = NoIndices();
    return Encode(elements, parts);
  }

  absl::Status Scatter(const DeviceSelection& selection, float* u) override {
    if (selection.count == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_RETURN_IF_CUDA_ERROR(
        LaunchScatter({selection.indices, selection.values, u}, selection.count,
                      work_->stream()));
    return work_->End();
  }

 private:
  // The blocks that windows are copied to.
  using Windows = std::vector<std::shared_ptr<uint8_t[]>>;

  // What is encoded.
  struct Elements {
    EncodeBatch batch;
    ElementCount number;
    int64_t max_count = 0;
    IndexPacking indices;
  };

  // A whole vector in fp32 is its own payload: copies leave the device's
  // multiprocessors to others.
  absl::StatusOr<std::vector<PayloadBuffer>> CopyAll(
      float* u, absl::Span<const PayloadPart> parts) {
    PS_RETURN_IF_ERROR(work_->Begin());
    std::vector<PayloadBuffer> payloads;
    const auto queue = [&]() -> absl::Status {
      for (const PayloadPart& part : parts) {
        const int64_t size = part.end - part.begin;
        PS_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t[]> block,
                            blocks_.Acquire(DensePayloadBytes(size)));
        payloads.push_back(DenseOver(std::move(block), size));
        if (size == 0) continue;
        PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
            DenseValues(&payloads.back()), u + part.begin, size * sizeof(float),
            cudaMemcpyDeviceToHost, work_->stream()));
        PS_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(
            u + part.begin, 0, size * sizeof(float), work_->stream()));
      }
      return absl::OkStatus();
    };
    PS_RETURN_IF_ERROR(Awaited(queue()));
    return payloads;
  }

  // Waits for what has been queued, even if that has failed half-way: the
  // device may still write to the payloads.
  absl::Status Awaited(absl::Status queued) {
    queued.Update(work_->streams().Await(work_->stream()));
    return queued;
  }

  absl::StatusOr<std::vector<PayloadBuffer>> Encode(
      Elements elements, absl::Span<const PayloadPart> parts) {
    PS_RETURN_IF_ERROR(work_->Begin());
    PS_RETURN_IF_ERROR(StartPlans(parts, &elements.batch));
    Windows windows;
    if (elements.max_count > 0) {
      const absl::Status packed = Pack(elements, &windows);
      if (!packed.ok()) return Awaited(packed);
    }
    std::vector<PayloadBuffer> payloads;
    for (const PartPlan& part : Plans()) {
      PS_ASSIGN_OR_RETURN(
          PayloadBuffer payload,
          part.count == 0
              ? NothingOf(part, elements)
              : PayloadIn(windows[static_cast<size_t>(part.window)], part));
      payloads.push_back(std::move(payload));
    }
    return payloads;
  }

  // Packs the planned parts, and waits for them.
  absl::Status Pack(Elements& elements, Windows* windows) {
    PS_RETURN_IF_ERROR(ClearWindow(WindowBytes(elements)));
    is_clear_ = false;
    PS_RETURN_IF_ERROR(QueuePlans(&elements));
    // As many windows as the last time, and then those that are missing. They
    // use the same memory of the device one after the other.
    int window = 0;
    for (int end = num_windows_; window < end;) {
      for (; window < end; ++window) {
        PS_RETURN_IF_ERROR(QueueWindow(elements, window, windows));
      }
      PS_RETURN_IF_ERROR(AwaitPlans());
      end = num_windows_ = PinnedPlans()[num_parts_].window;
    }
    is_clear_ = true;
    return absl::OkStatus();
  }

  // The queued windows may be more than there are.
  absl::Status QueueWindow(const Elements& elements, int window,
                           Windows* windows) {
    PS_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t[]> block,
                        blocks_.Acquire(window_bytes_));
    const EncodeBatch& batch = elements.batch;
    const int64_t num_chunks = MaxChunks(elements);
    PS_RETURN_IF_CUDA_ERROR(LaunchPackPayloads(batch, values_, window,
                                               num_chunks, work_->stream()));
    PS_RETURN_IF_CUDA_ERROR(
        LaunchCopyPayloads(batch, window, block.get(),
                           std::min(num_chunks, kCopyBlocks), work_->stream()));
    windows->push_back(std::move(block));
    return absl::OkStatus();
  }

  // Queues everything that the plans depend on, and the plans.
  absl::Status QueuePlans(Elements* elements) {
    EncodeBatch* const batch = &elements->batch;
    const int64_t num_chunks = MaxChunks(*elements);
    const cudaStream_t stream = work_->stream();
    batch->payloads = window_.get();
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(plans_.get(), pinned_plans_.get(),
                                            PlanBytes(), cudaMemcpyHostToDevice,
                                            stream));
    PS_RETURN_IF_CUDA_ERROR(
        LaunchFindParts(*batch, values_.bucket_size, elements->number, stream));
    if (elements->indices.needs_gaps()) {
      PS_RETURN_IF_ERROR(lengths_.AtLeast(num_chunks + 1, work_));
      batch->lengths = lengths_.get();
      PS_RETURN_IF_CUDA_ERROR(LaunchMeasureGaps(*batch, num_chunks, stream));
    }
    if (NeedsSums()) {
      PS_RETURN_IF_ERROR(sums_.AtLeast(num_chunks, work_));
      PS_RETURN_IF_CUDA_ERROR(
          LaunchSumValues(*batch, values_, num_chunks, sums_.get(), stream));
      PS_RETURN_IF_CUDA_ERROR(
          LaunchFoldValues(*batch, values_, sums_.get(), stream));
    }
    PS_RETURN_IF_ERROR(levels_.Queue(elements->max_count, batch));
    PS_RETURN_IF_CUDA_ERROR(LaunchPlanPayloads(
        *batch, values_, elements->indices, window_bytes_, stream));
    return absl::OkStatus();
  }

  PartPlan* PinnedPlans() {
    return static_cast<PartPlan*>(pinned_plans_.get());
  }
  absl::Span<PartPlan> Plans() {
    return absl::MakeSpan(PinnedPlans(), num_parts_);
  }
  size_t PlanBytes() const { return (num_parts_ + 1) * sizeof(PartPlan); }

  // Sets what the host knows of the parts.
  absl::Status StartPlans(absl::Span<const PayloadPart> parts,
                          EncodeBatch* batch) {
    num_parts_ = static_cast<int>(parts.size());
    if (num_parts_ > max_parts_) {
      max_parts_ = 0;
      pinned_plans_.reset();
      PS_ASSIGN_OR_RETURN(pinned_plans_,
                          AllocatePinnedMemory(PlanBytes(), work_->stream()));
      PS_RETURN_IF_ERROR(plans_.AtLeast(num_parts_ + 1, work_));
      max_parts_ = num_parts_;
    }
    for (int p = 0; p < num_parts_; ++p) {
      PartPlan& plan = PinnedPlans()[p];
      plan = PartPlan();
      plan.begin = parts[p].begin;
      plan.dense_size = parts[p].end - parts[p].begin;
      plan.random_key = parts[p].random_key;
    }
    PinnedPlans()[num_parts_] = PartPlan();
    batch->parts = plans_.get();
    batch->num_parts = num_parts_;
    return absl::OkStatus();
  }

  absl::Status AwaitPlans() {
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(pinned_plans_.get(), plans_.get(),
                                            PlanBytes(), cudaMemcpyDeviceToHost,
                                            work_->stream()));
    return work_->streams().Await(work_->stream());
  }

  // An upper bound, however the elements are distributed.
  int64_t MaxChunks(const Elements& elements) const {
    return elements.max_count / kEncodeChunk + num_parts_;
  }

  bool NeedsSums() const {
    return values_.code == ValueCode::kOneBit ||
           values_.code == ValueCode::kTernary ||
           (values_.code == ValueCode::kSign && !values_.unit_scale);
  }

  // The size of a window into which each of the parts fits.
  int64_t WindowBytes(const Elements& elements) {
    int64_t dense_size = 0;
    int64_t largest = 0;
    for (const PartPlan& part : Plans()) {
      dense_size += part.dense_size;
      largest = std::max(
          largest, MaxPlaces(codes_, elements.indices, 1,
                             std::min(part.dense_size, elements.max_count),
                             part.dense_size));
    }
    const int64_t all = MaxPlaces(codes_, elements.indices, num_parts_,
                                  elements.max_count, dense_size);
    return std::max(largest, std::min(all, kMaxWindowBytes));
  }

  // Makes room for a window, and sets its bits to zeros.
  absl::Status ClearWindow(int64_t bytes) {
    if (bytes > window_bytes_) {
      window_bytes_ = 0;
      is_clear_ = false;
      PS_RETURN_IF_ERROR(window_.AtLeast(bytes, work_));
      window_bytes_ = bytes;
    }
    if (is_clear_) return absl::OkStatus();
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(window_.get(), 0, window_bytes_, work_->stream()));
    return absl::OkStatus();
  }

  // The payload uses the block as long as it exists.
  PayloadBuffer PayloadIn(const std::shared_ptr<uint8_t[]>& block,
                          const PartPlan& part) const {
    PayloadInfo info;
    info.index_code = part.index_code;
    info.value_code = values_.code;
    info.count = part.count;
    info.dense_size = part.dense_size;
    info.value_bytes = part.value_bytes;
    info.index_bytes = part.index_bytes;
    return PayloadOver(
        info, std::shared_ptr<uint8_t[]>(block, block.get() + part.offset));
  }

  // The host can write a payload without elements by itself.
  absl::StatusOr<PayloadBuffer> NothingOf(const PartPlan& part,
                                          const Elements& elements) {
    if (elements.batch.indices == nullptr) {
      return EncodeDenseAs(codes_, {}, part.random_key);
    }
    return EncodeElements(codes_, {}, {}, static_cast<uint32_t>(part.begin),
                          part.dense_size, part.random_key);
  }

  const PayloadCodes codes_;
  const ValuePacking values_;
  const IndexPacking indices_;
  SparseWork* const work_;  // The backend's.
  int num_parts_ = 0;       // Of the current call.
  int num_windows_ = 1;     // Of the last call.
  int max_parts_ = 0;
  std::shared_ptr<void> pinned_plans_;  // [max_parts_ + 1]
  Reserve<PartPlan> plans_;
  Reserve<GapLengths> lengths_;
  Reserve<ValueSums> sums_;
  LevelWork levels_;
  Reserve<uint8_t> window_;
  int64_t window_bytes_ = 0;
  bool is_clear_ = false;  // All bits of the window are zeros.
  PinnedBlocks blocks_;
};

}  // namespace

std::unique_ptr<DeviceEncoder> NewDeviceEncoder(const PayloadCodes& codes,
                                                Backend* backend) {
  if (backend->sparse().device_work() == nullptr) return nullptr;
  return std::make_unique<CudaEncoder>(codes, ValuePackingOf(codes),
                                       IndexPackingOf(codes), backend);
}

}  // namespace ps
