#include <algorithm>
#include <cstdint>

#include "common/status_macros.h"
#include "compressors/cuda/device_widener.h"
#include "compressors/payload/piece_reader.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/four.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

// The number of elements copied to the device at a time, and the halves of the
// buffer: while one half is copied, the host fills the other.
constexpr int64_t kStretch = int64_t{1} << 20;
constexpr int kHalves = 2;

// u = codes, or u += codes. `codes` has room for a multiple of four.
template <class Format>
struct Widen {
  const uint16_t* codes;
  bool adds;
  float* u;

  __device__ void operator()(const FourOf& four) const {
    const ushort4 narrow =
        reinterpret_cast<const ushort4*>(codes)[four.begin / kFour];
    float x[kFour] = {Format::Widen(narrow.x), Format::Widen(narrow.y),
                      Format::Widen(narrow.z), Format::Widen(narrow.w)};
    if (adds) {
      float before[kFour];
      four.Load(u, before);
#pragma unroll
      for (int k = 0; k < kFour; ++k) x[k] = __fadd_rn(before[k], x[k]);
    }
    four.Store(x, u);
  }
};

class DeviceWidenerImpl final : public DeviceWidener {
 public:
  explicit DeviceWidenerImpl(SparseWork* work) : work_(work) {}

  absl::Status Write(const PayloadPieces& pieces, const PayloadInfo& info,
                     bool adds, float* u) override {
    if (info.dense_size == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(
        device_.Reserve(work_, kHalves * kStretch, "weights of 16 bits"));
    PS_RETURN_IF_ERROR(pinned_.Reserve(work_, kHalves * kStretch));
    PS_RETURN_IF_ERROR(work_->Begin());
    PieceReader bytes(pieces, kPayloadHeaderBytes,
                      kPayloadHeaderBytes + info.value_bytes);
    int half = 0;
    for (int64_t begin = 0; begin < info.dense_size; begin += kStretch) {
      const int64_t size = std::min(kStretch, info.dense_size - begin);
      uint16_t* const host = pinned_.get() + half * kStretch;
      uint16_t* const device = device_.get() + half * kStretch;
      // The device has read this half: the last wait was for that.
      bytes.Read(host, size * int64_t{sizeof(uint16_t)});
      PS_RETURN_IF_ERROR(work_->Await());
      PS_RETURN_IF_CUDA_ERROR(
          cudaMemcpyAsync(device, host, size * sizeof(uint16_t),
                          cudaMemcpyHostToDevice, work_->stream()));
      const cudaError_t widened =
          info.value_code == ValueCode::kBf16
              ? LaunchFours(Widen<Bf16>{device, adds, u + begin}, size,
                            work_->stream())
              : LaunchFours(Widen<Fp16>{device, adds, u + begin}, size,
                            work_->stream());
      PS_RETURN_IF_ERROR(CudaToStatus(widened, "LaunchFours"));
      half = 1 - half;
    }
    // The buffer may be written again only after the device has read it.
    return work_->Await();
  }

 private:
  SparseWork* const work_;       // Not owned.
  DeviceRoom<uint16_t> device_;  // [kHalves, kStretch]
  PinnedRoom<uint16_t> pinned_;  // The same on the host.
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceWidener, DeviceWidenerImpl);

}  // namespace ps
