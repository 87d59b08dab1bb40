#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "common/status_macros.h"
#include "compressors/cuda/device_widener.h"
#include "compressors/payload/piece_reader.h"
#include "compressors/value_codes/level_decoder.h"
#include "compressors/value_codes/levels.h"
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

// Codes have room for a multiple of four.
template <class Format>
struct TwoByteCodes {
  const uint8_t* codes;

  __device__ void Load(const FourOf& four, float (&x)[kFour]) const {
    const ushort4 narrow =
        reinterpret_cast<const ushort4*>(codes)[four.begin / kFour];
    x[0] = Format::Widen(narrow.x);
    x[1] = Format::Widen(narrow.y);
    x[2] = Format::Widen(narrow.z);
    x[3] = Format::Widen(narrow.w);
  }
};

struct BlockCodes {
  const uint8_t* codes;  // From element `first` on.
  const float* scales;   // From the beginning on.
  uint32_t bucket_size;
  int64_t first;

  __device__ void Load(const FourOf& four, float (&x)[kFour]) const {
#pragma unroll
    for (int k = 0; k < kFour && k < four.size; ++k) {
      const int code = codes[four.begin + k];
      const uint32_t at = static_cast<uint32_t>(first + four.begin) + k;
      const float magnitude =
          Product(scales[at / bucket_size],
                  UniformLevels::Value(code & kLevels, kLevels));
      x[k] = code > kLevels ? -magnitude : magnitude;
    }
  }

  static constexpr int kLevels = 127;
};

// u = values, or u += values.
template <class Codes>
struct Widen {
  Codes codes;
  bool adds;
  float* u;

  __device__ void operator()(const FourOf& four) const {
    float x[kFour] = {};
    codes.Load(four, x);
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
    PieceReader bytes(pieces, kPayloadHeaderBytes,
                      kPayloadHeaderBytes + info.value_bytes);
    const bool blocks = info.value_code == ValueCode::kInt8Block;
    const int64_t bytes_each = blocks ? 1 : 2;
    const int64_t half_bytes = kStretch * bytes_each;
    PS_RETURN_IF_ERROR(
        device_.Reserve(work_, kHalves * half_bytes, "narrow weights"));
    PS_RETURN_IF_ERROR(pinned_.Reserve(work_, kHalves * half_bytes));
    LevelHeader header;
    int64_t num_scales = 0;
    if (blocks) {
      bytes.Read(&header, sizeof(header));
      num_scales = (info.count + header.bucket_size - 1) / header.bucket_size;
      PS_RETURN_IF_ERROR(scales_.Reserve(work_, num_scales, "their scales"));
      PS_RETURN_IF_ERROR(pinned_scales_.Reserve(work_, num_scales));
    }
    PS_RETURN_IF_ERROR(work_->Begin());
    if (blocks) {
      const int64_t size = num_scales * int64_t{sizeof(float)};
      bytes.Read(pinned_scales_.get(), size);
      PS_RETURN_IF_CUDA_ERROR(
          cudaMemcpyAsync(scales_.get(), pinned_scales_.get(), size,
                          cudaMemcpyHostToDevice, work_->stream()));
    }
    int half = 0;
    for (int64_t begin = 0; begin < info.dense_size; begin += kStretch) {
      const int64_t size = std::min(kStretch, info.dense_size - begin);
      uint8_t* const host = pinned_.get() + half * half_bytes;
      uint8_t* const device = device_.get() + half * half_bytes;
      // The device has read this half: the last wait was for that.
      bytes.Read(host, size * bytes_each);
      PS_RETURN_IF_ERROR(work_->Await());
      PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(device, host, size * bytes_each,
                                              cudaMemcpyHostToDevice,
                                              work_->stream()));
      const auto launch = [&](const auto& codes) {
        return LaunchFours(
            Widen<std::decay_t<decltype(codes)>>{codes, adds, u + begin}, size,
            work_->stream());
      };
      const cudaError_t widened =
          blocks ? launch(BlockCodes{device, scales_.get(), header.bucket_size,
                                     begin})
          : info.value_code == ValueCode::kBf16
              ? launch(TwoByteCodes<Bf16>{device})
              : launch(TwoByteCodes<Fp16>{device});
      PS_RETURN_IF_ERROR(CudaToStatus(widened, "LaunchFours"));
      half = 1 - half;
    }
    // The buffer may be written again only after the device has read it.
    return work_->Await();
  }

 private:
  SparseWork* const work_;      // Not owned.
  DeviceRoom<uint8_t> device_;  // [kHalves, kStretch, bytes of a code]
  PinnedRoom<uint8_t> pinned_;  // The same on the host.
  DeviceRoom<float> scales_;
  PinnedRoom<float> pinned_scales_;
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceWidener, DeviceWidenerImpl);

}  // namespace ps
