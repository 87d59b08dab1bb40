#include <memory>

#include "common/status_macros.h"
#include "compressors/cuda/pinned_blocks.h"
#include "compressors/cuda/whole_vectors.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/four.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

// The bus is slower than a few multiprocessors, and the backward pass needs the
// others.
constexpr int64_t kMaxBlocks = 64;

// Payloads begin at a multiple of this, and their values 32 bytes later.
constexpr int64_t kAlignment = 64;

// Writes codes of u to pinned memory, and keeps the errors in u. The difference
// is exact: it must not be fused with what made the code.
template <class Format>
struct Narrow {
  float* u;
  uint16_t* codes;

  __device__ void operator()(const FourOf& four) const {
    float x[kFour];
    four.Load(u, x);
    ushort4 narrow;
    narrow.x = Format::Narrow(x[0]);
    narrow.y = Format::Narrow(x[1]);
    narrow.z = Format::Narrow(x[2]);
    narrow.w = Format::Narrow(x[3]);
    if (four.size == kFour) {
      reinterpret_cast<ushort4*>(codes)[four.begin / kFour] = narrow;
    } else {
      codes[four.begin] = narrow.x;
      if (four.size > 1) codes[four.begin + 1] = narrow.y;
      if (four.size > 2) codes[four.begin + 2] = narrow.z;
    }
    x[0] = __fsub_rn(x[0], Format::Widen(narrow.x));
    x[1] = __fsub_rn(x[1], Format::Widen(narrow.y));
    x[2] = __fsub_rn(x[2], Format::Widen(narrow.z));
    x[3] = __fsub_rn(x[3], Format::Widen(narrow.w));
    four.Store(x, u);
  }
};

PayloadInfo InfoOf(const std::string& value_code, int64_t size) {
  PayloadInfo info;
  info.value_code = value_code == "fp32"   ? ValueCode::kFp32
                    : value_code == "bf16" ? ValueCode::kBf16
                                           : ValueCode::kFp16;
  info.count = info.dense_size = size;
  info.value_bytes = size * (info.value_code == ValueCode::kFp32 ? 4 : 2);
  return info;
}

class WholeVectorsImpl final : public WholeVectors {
 public:
  explicit WholeVectorsImpl(SparseWork* work) : work_(work) {}

  absl::StatusOr<std::vector<PayloadBuffer>> Encode(
      const std::string& value_code, absl::Span<const int64_t> ends,
      float* u) override {
    int64_t size_bytes = 0;
    int64_t begin = 0;
    for (const int64_t end : ends) {
      size_bytes += BytesFor(InfoOf(value_code, end - begin));
      begin = end;
    }
    PS_RETURN_IF_ERROR(work_->streams().MakeCurrent());
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<uint8_t[]> block,
                        blocks_.Acquire(size_bytes));
    PS_RETURN_IF_ERROR(work_->Begin());
    std::vector<PayloadBuffer> payloads;
    uint8_t* next = block.get();
    begin = 0;
    for (const int64_t end : ends) {
      const PayloadInfo info = InfoOf(value_code, end - begin);
      payloads.push_back(
          PayloadOver(info, std::shared_ptr<uint8_t[]>(block, next)));
      PS_RETURN_IF_ERROR(
          EncodePart(info, u + begin, next + kPayloadHeaderBytes));
      next += BytesFor(info);
      begin = end;
    }
    if (value_code == "fp32") {
      PS_RETURN_IF_CUDA_ERROR(
          cudaMemsetAsync(u, 0, begin * sizeof(float), work_->stream()));
    }
    PS_RETURN_IF_ERROR(work_->Await());
    return payloads;
  }

 private:
  static int64_t BytesFor(const PayloadInfo& info) {
    return (PayloadBytes(info) + kAlignment - 1) / kAlignment * kAlignment;
  }

  absl::Status EncodePart(const PayloadInfo& info, float* u, uint8_t* out) {
    if (info.count == 0) return absl::OkStatus();
    if (info.value_code == ValueCode::kFp32) {
      PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
          out, u, info.value_bytes, cudaMemcpyDeviceToHost, work_->stream()));
      return absl::OkStatus();
    }
    uint16_t* const codes = reinterpret_cast<uint16_t*>(out);
    const cudaError_t narrowed =
        info.value_code == ValueCode::kBf16
            ? LaunchFours(Narrow<Bf16>{u, codes}, info.count, work_->stream(),
                          kMaxBlocks)
            : LaunchFours(Narrow<Fp16>{u, codes}, info.count, work_->stream(),
                          kMaxBlocks);
    return CudaToStatus(narrowed, "LaunchFours");
  }

  SparseWork* const work_;  // Not owned.
  PinnedBlocks blocks_;
};

}  // namespace

PS_REGISTER_ON_DEVICE(WholeVectors, WholeVectorsImpl);

}  // namespace ps
