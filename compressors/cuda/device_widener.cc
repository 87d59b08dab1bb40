#include "compressors/cuda/device_widener.h"

#include <algorithm>
#include <cstdint>

#include "common/status_macros.h"
#include "compressors/cuda/widen_launch.h"
#include "compressors/payload/piece_reader.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/sparse_rooms.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

// The number of elements copied to the device at a time, and the halves of the
// buffer: while one half is copied, the host fills the other.
constexpr int64_t kStretch = int64_t{1} << 20;
constexpr int kHalves = 2;

class DeviceWidenerImpl final : public DeviceWidener {
 public:
  explicit DeviceWidenerImpl(SparseWork* work) : work_(work) {}

  absl::Status Write(const PayloadPieces& pieces, const PayloadInfo& info,
                     bool adds, float* u) override {
    PS_RETURN_IF_ERROR(MakeRoom(info.dense_size));
    PS_RETURN_IF_ERROR(work_->Begin());
    PieceReader bytes(pieces, kPayloadHeaderBytes,
                      kPayloadHeaderBytes + info.value_bytes);
    uint16_t* const host = static_cast<uint16_t*>(pinned_.get());
    int half = 0;
    for (int64_t begin = 0; begin < info.dense_size; begin += kStretch) {
      const int64_t size = std::min(kStretch, info.dense_size - begin);
      const int64_t at = half * kStretch;
      // The device has read this half: the last wait was for that.
      bytes.Read(host + at, size * int64_t{sizeof(uint16_t)});
      PS_RETURN_IF_ERROR(work_->streams().Await(work_->stream()));
      PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
          device_.get() + at, host + at, size * sizeof(uint16_t),
          cudaMemcpyHostToDevice, work_->stream()));
      PS_RETURN_IF_ERROR(
          info.value_code == ValueCode::kBf16
              ? Widen<Bf16>(device_.get() + at, adds, u + begin, size)
              : Widen<Fp16>(device_.get() + at, adds, u + begin, size));
      half = 1 - half;
    }
    // The buffer may be written again only after the device has read it.
    return work_->streams().Await(work_->stream());
  }

 private:
  absl::Status MakeRoom(int64_t dense_size) {
    const int64_t size = kHalves * kStretch;
    if (dense_size == 0 || pinned_ != nullptr) return absl::OkStatus();
    PS_RETURN_IF_ERROR(device_.Reserve(work_, size, "weights of 16 bits"));
    PS_ASSIGN_OR_RETURN(pinned_, AllocatePinnedMemory(size * sizeof(uint16_t),
                                                      work_->stream()));
    return absl::OkStatus();
  }

  template <class Format>
  absl::Status Widen(const uint16_t* codes, bool adds, float* u, int64_t n) {
    WidenCodes<Format> widen;
    widen.codes = codes;
    widen.add = adds;
    widen.u = u;
    PS_RETURN_IF_CUDA_ERROR(LaunchWiden(widen, n, work_->stream()));
    return absl::OkStatus();
  }

  SparseWork* const work_;        // Not owned.
  DeviceRoom<uint16_t> device_;   // [kHalves, kStretch]
  std::shared_ptr<void> pinned_;  // The same on the host.
};

}  // namespace

bool CanWiden(const PayloadInfo& info) {
  return info.index_code == IndexCode::kDense &&
         (info.value_code == ValueCode::kBf16 ||
          info.value_code == ValueCode::kFp16);
}

absl::StatusOr<std::unique_ptr<DeviceWidener>> NewDeviceWidener(
    SparseWork* work) {
  return std::make_unique<DeviceWidenerImpl>(work);
}

}  // namespace ps
