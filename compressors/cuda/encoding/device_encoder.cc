#include "compressors/cuda/encoding/device_encoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/cuda/encoding/encode_launch.h"
#include "compressors/cuda/encoding/level_work.h"
#include "compressors/cuda/encoding/packing_choice.h"
#include "compressors/cuda/encoding/reserve.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

// Alignment of payloads in device memory, so that no two parts share a word.
constexpr int64_t kAlignmentBytes = 256;
// The maximum size of payloads held there together; a single part may have
// more.
constexpr int64_t kMaxHeldBytes = int64_t{32} << 20;

int64_t RoundedUp(int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

// Parts that are held in device memory together: [begin, end).
struct Group {
  int begin = 0;
  int end = 0;
};

class CudaEncoder final : public DeviceEncoder {
 public:
  CudaEncoder(const PayloadCodes& codes, const ValuePacking& values,
              const IndexPacking& indices, Backend* backend)
      : codes_(codes),
        values_(values),
        indices_(indices),
        backend_(backend),
        work_(backend->sparse().device_work()),
        levels_(values, work_) {}

  absl::StatusOr<std::vector<PayloadBuffer>> EncodeSelected(
      const DeviceSelection& selection,
      absl::Span<const PayloadPart> parts) override {
    EncodeBatch batch;
    batch.indices = selection.indices;
    batch.values = selection.values;
    whole_ = false;
    return Waited([&](std::vector<PayloadBuffer>* payloads) -> absl::Status {
      PS_RETURN_IF_ERROR(StartPlans(parts, selection.count, &batch));
      if (selection.count > 0) PS_RETURN_IF_ERROR(MeasureSelection(&batch));
      for (PartPlan& part : Plans()) ChooseIndexCode(indices_, &part);
      return QueuePayloads(&batch, payloads);
    });
  }

  absl::StatusOr<std::vector<PayloadBuffer>> EncodeAll(
      float* u, absl::Span<const PayloadPart> parts) override {
    EncodeBatch batch;
    batch.values = u;
    whole_ = true;
    return Waited([&](std::vector<PayloadBuffer>* payloads) -> absl::Status {
      int64_t n = 0;
      for (const PayloadPart& part : parts) n += part.end - part.begin;
      PS_RETURN_IF_ERROR(StartPlans(parts, n, &batch));
      for (PartPlan& part : Plans()) {
        part.first = part.begin;
        part.count = part.dense_size;
      }
      PlaceParts(values_.bucket_size, num_parts_, Plans().data());
      if (count_ > 0 && values_.elias) {
        PS_RETURN_IF_ERROR(PlansToDevice());
        PS_RETURN_IF_ERROR(levels_.Queue(count_, &batch));
        PS_RETURN_IF_ERROR(AwaitPlans());
      }
      return QueuePayloads(&batch, payloads);
    });
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
  // Calls queue(&payloads) and waits for what it has queued, even if it failed
  // half-way: the device may still write to the payloads.
  template <class Queue>
  absl::StatusOr<std::vector<PayloadBuffer>> Waited(const Queue& queue) {
    std::vector<PayloadBuffer> payloads;
    const absl::Status queued = queue(&payloads);
    const absl::Status done = work_->streams().Await(work_->stream());
    PS_RETURN_IF_ERROR(queued);
    PS_RETURN_IF_ERROR(done);
    return payloads;
  }

  absl::Span<PartPlan> Plans() {
    return absl::MakeSpan(static_cast<PartPlan*>(pinned_plans_.get()),
                          num_parts_);
  }

  // Plans the parts, and allocates memory for them and for `count` elements.
  absl::Status StartPlans(absl::Span<const PayloadPart> parts, int64_t count,
                          EncodeBatch* batch) {
    PS_RETURN_IF_ERROR(work_->Begin());
    num_parts_ = static_cast<int>(parts.size());
    if (num_parts_ > max_parts_) {
      pinned_plans_.reset();
      max_parts_ = 0;
      PS_ASSIGN_OR_RETURN(pinned_plans_,
                          AllocatePinnedMemory(num_parts_ * sizeof(PartPlan)));
      PS_RETURN_IF_ERROR(plans_.AtLeast(num_parts_, work_));
      max_parts_ = num_parts_;
    }
    for (int p = 0; p < num_parts_; ++p) {
      PartPlan& plan = Plans()[p];
      plan = PartPlan();
      plan.begin = parts[p].begin;
      plan.dense_size = parts[p].end - parts[p].begin;
      plan.random_key = parts[p].random_key;
    }
    count_ = count;
    batch->parts = plans_.get();
    batch->num_parts = num_parts_;
    return absl::OkStatus();
  }

  absl::Status PlansToDevice() {
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        plans_.get(), pinned_plans_.get(), num_parts_ * sizeof(PartPlan),
        cudaMemcpyHostToDevice, work_->stream()));
    return absl::OkStatus();
  }

  // Waits for the results of the device about the parts.
  absl::Status AwaitPlans() {
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        pinned_plans_.get(), plans_.get(), num_parts_ * sizeof(PartPlan),
        cudaMemcpyDeviceToHost, work_->stream()));
    return work_->streams().Await(work_->stream());
  }

  // For a selection of at least one element.
  absl::Status MeasureSelection(EncodeBatch* batch) {
    const cudaStream_t stream = work_->stream();
    PS_RETURN_IF_ERROR(PlansToDevice());
    PS_RETURN_IF_CUDA_ERROR(
        LaunchFindParts(*batch, values_.bucket_size, count_, stream));
    if (indices_.needs_gaps()) {
      // An upper bound, however the elements are distributed.
      const int64_t max_chunks = count_ / kEncodeChunk + num_parts_;
      PS_RETURN_IF_ERROR(lengths_.AtLeast(max_chunks, work_));
      batch->lengths = lengths_.get();
      PS_RETURN_IF_CUDA_ERROR(LaunchMeasureGaps(*batch, max_chunks, stream));
      PS_RETURN_IF_CUDA_ERROR(LaunchScanGaps(*batch, stream));
    }
    // The size of Elias's codes depends on the values.
    if (values_.elias) PS_RETURN_IF_ERROR(levels_.Queue(count_, batch));
    return AwaitPlans();
  }

  // Continues when counts and index codes are known: queues all payloads.
  absl::Status QueuePayloads(EncodeBatch* batch,
                             std::vector<PayloadBuffer>* payloads) {
    const std::vector<Group> groups = PlacePayloads();
    PS_RETURN_IF_ERROR(held_.AtLeast(held_bytes_, work_));
    batch->payloads = held_.get();
    PS_RETURN_IF_ERROR(PlansToDevice());
    const int64_t num_chunks = ChunksBefore(num_parts_);
    if (num_chunks > 0 && NeedsSums()) {
      PS_RETURN_IF_ERROR(sums_.AtLeast(num_chunks, work_));
      PS_RETURN_IF_CUDA_ERROR(LaunchSumValues(*batch, values_, num_chunks,
                                              sums_.get(), work_->stream()));
      PS_RETURN_IF_CUDA_ERROR(
          LaunchFoldValues(*batch, values_, sums_.get(), work_->stream()));
    }
    if (num_chunks > 0 && !values_.elias) {
      PS_RETURN_IF_ERROR(levels_.Queue(count_, batch));
    }
    for (const Group& group : groups) {
      PS_RETURN_IF_ERROR(QueueGroup(group, batch, payloads));
    }
    return absl::OkStatus();
  }

  bool NeedsSums() const {
    return values_.code == ValueCode::kOneBit ||
           values_.code == ValueCode::kTernary ||
           (values_.code == ValueCode::kSign && !values_.unit_scale);
  }

  // Chooses sizes and places; several groups may use a place one after the
  // other.
  std::vector<Group> PlacePayloads() {
    std::vector<Group> groups;
    int64_t held = 0;
    held_bytes_ = 0;
    for (int p = 0; p < num_parts_; ++p) {
      PartPlan& part = Plans()[p];
      ChooseValueBytes(values_, &part);
      part.scales[0] = part.scales[1] = 1;  // Unless overwritten by a sum.
      const int64_t bytes = RoundedUp(part.value_bytes + part.index_bytes);
      if (groups.empty() || held + bytes > kMaxHeldBytes) {
        groups.push_back({p, p});
        held = 0;
      }
      part.offset = held;
      held += bytes;
      held_bytes_ = std::max(held_bytes_, held);
      groups.back().end = p + 1;
    }
    return groups;
  }

  // The number of chunks in the parts before p.
  int64_t ChunksBefore(int p) {
    if (p == 0) return 0;
    const PartPlan& last = Plans()[p - 1];
    return last.chunk_base + last.num_chunks();
  }

  absl::Status QueueGroup(const Group& group, EncodeBatch* batch,
                          std::vector<PayloadBuffer>* payloads) {
    batch->first_chunk = ChunksBefore(group.begin);
    const int64_t chunks = ChunksBefore(group.end) - batch->first_chunk;
    if (chunks > 0) PS_RETURN_IF_ERROR(QueueValues(group, chunks, *batch));
    if (chunks > 0 && !whole_) {
      for (int p = group.begin; p < group.end; ++p) {
        PS_RETURN_IF_ERROR(FillIndexBytes(Plans()[p]));
      }
      PS_RETURN_IF_CUDA_ERROR(
          LaunchWriteIndices(*batch, chunks, work_->stream()));
    }
    for (int p = group.begin; p < group.end; ++p) {
      PS_RETURN_IF_ERROR(QueueCopy(Plans()[p], payloads));
    }
    return absl::OkStatus();
  }

  absl::Status QueueValues(const Group& group, int64_t num_chunks,
                           const EncodeBatch& batch) {
    const cudaStream_t stream = work_->stream();
    if (!values_.elias) {
      PS_RETURN_IF_CUDA_ERROR(
          LaunchPackValues(batch, values_, num_chunks, stream));
      return absl::OkStatus();
    }
    for (int p = group.begin; p < group.end; ++p) {
      const PartPlan& part = Plans()[p];
      if (part.count == 0) continue;
      // Whole words are cleared, since bits are set by words.
      PS_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(
          held_.get() + part.offset, 0, RoundedUp(part.value_bytes), stream));
    }
    PS_RETURN_IF_CUDA_ERROR(
        LaunchWriteLevels(batch, values_, num_chunks, stream));
    return absl::OkStatus();
  }

  // Initializes the index bytes as WriteIndices expects them.
  absl::Status FillIndexBytes(const PartPlan& part) {
    if (part.count == 0 || part.index_bytes == 0 ||
        part.index_code == IndexCode::kDeltaVarint) {
      return absl::OkStatus();
    }
    const int ones = part.index_code == IndexCode::kRice ? 0xff : 0;
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(held_.get() + part.offset + part.value_bytes, ones,
                        part.index_bytes, work_->stream()));
    return absl::OkStatus();
  }

  absl::Status QueueCopy(const PartPlan& part,
                         std::vector<PayloadBuffer>* payloads) {
    if (part.count == 0) {
      // The host can write a payload without elements by itself.
      PS_ASSIGN_OR_RETURN(
          PayloadBuffer nothing,
          whole_ ? EncodeDenseAs(codes_, {}, part.random_key)
                 : EncodeElements(codes_, {}, {},
                                  static_cast<uint32_t>(part.begin),
                                  part.dense_size, part.random_key));
      payloads->push_back(std::move(nothing));
      return absl::OkStatus();
    }
    PayloadInfo info;
    info.index_code = part.index_code;
    info.value_code = values_.code;
    info.count = part.count;
    info.dense_size = part.dense_size;
    info.value_bytes = part.value_bytes;
    info.index_bytes = part.index_bytes;
    payloads->push_back(
        PayloadOver(info, backend_->HostBuffer(PayloadBytes(info))));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        payloads->back().data() + kPayloadHeaderBytes,
        held_.get() + part.offset, part.value_bytes + part.index_bytes,
        cudaMemcpyDeviceToHost, work_->stream()));
    return absl::OkStatus();
  }

  const PayloadCodes codes_;
  const ValuePacking values_;
  const IndexPacking indices_;
  Backend* const backend_;  // Not owned.
  SparseWork* const work_;  // The backend's.
  // State of the current call:
  bool whole_ = false;  // A whole vector, not a selection.
  int num_parts_ = 0;
  int64_t count_ = 0;       // Elements of all parts.
  int64_t held_bytes_ = 0;  // Size of the largest group.
  // State for all calls:
  int max_parts_ = 0;
  std::shared_ptr<void> pinned_plans_;  // [max_parts_]
  Reserve<PartPlan> plans_;
  Reserve<GapLengths> lengths_;
  Reserve<ValueSums> sums_;
  LevelWork levels_;
  Reserve<uint8_t> held_;  // Payloads without headers.
};

}  // namespace

std::unique_ptr<DeviceEncoder> NewDeviceEncoder(const PayloadCodes& codes,
                                                Backend* backend) {
  if (backend->sparse().device_work() == nullptr) return nullptr;
  return std::make_unique<CudaEncoder>(codes, ValuePackingOf(codes),
                                       IndexPackingOf(codes), backend);
}

}  // namespace ps
