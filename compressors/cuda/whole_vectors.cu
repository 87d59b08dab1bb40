// One launch finds the scales of the parts of a vector, and one makes their
// codes. Both are for many parts, whose table is their argument.
#include <algorithm>
#include <cstring>
#include <cub/block/block_reduce.cuh>
#include <memory>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "compressors/cuda/pinned_blocks.h"
#include "compressors/cuda/whole_vectors.h"
#include "compressors/value_codes/level_decoder.h"
#include "compressors/value_codes/philox_words.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "compressors/value_codes/value_codec.h"
#include "compressors/value_codes/value_steps.h"
#include "compressors/value_codes/value_sums.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/four.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

// Payloads begin at a multiple of this. What comes before their codes is a
// multiple of 4 bytes.
constexpr int64_t kAlignment = 64;

// A kernel's arguments have room for a table of this many parts.
constexpr int kMaxParts = 64;

struct CodedPart {
  float* values = nullptr;  // Replaced with the coding errors.
  int64_t count = 0;        // At least 1.
  uint64_t random_key = 0;
  float* scales = nullptr;  // On the device.
  // In the payload.
  float* out_scales = nullptr;
  uint8_t* out_codes = nullptr;
};

enum class Scale { kNone, kOne, kMean, kMeanOfEachSign, kLargest, kNorm };

struct CodedParts {
  CodedPart parts[kMaxParts];
  int num_parts = 0;
  int64_t longest = 0;  // Of their counts.
  Scale scale = Scale::kNone;
  int scales_each = 0;       // Scales of a bucket.
  uint32_t bucket_size = 0;  // Values that share scales; at least 1.
  int bits = 0;              // Of a code.
  bool draws = false;        // Codes are drawn at random.
  bool pairs = false;        // Bytes have the first code in their highest bits.
  float threshold = 0;       // Of pairs.
};

// Rounded up.
__host__ __device__ int64_t Quotient(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

struct BucketSums {
  // Of magnitudes, by sign.
  double others = 0;
  double negatives = 0;
  double squares = 0;
  int64_t num_negative = 0;
  float largest = 0;

  __device__ void Add(float v) {
    const float magnitude = fabsf(v);
    others += v < 0 ? 0 : magnitude;
    negatives += v < 0 ? magnitude : 0;
    squares += static_cast<double>(v) * static_cast<double>(v);
    num_negative += v < 0;
    largest = fmaxf(largest, magnitude);
  }
  // Returns scale 0 or 1 of a bucket of `count` values.
  __device__ float ScaleOf(Scale scale, int64_t count, int which) const {
    switch (scale) {
      case Scale::kMean:
        return MeanMagnitude({others + negatives}, count);
      case Scale::kMeanOfEachSign:
        return which == 1 ? MeanMagnitude({negatives}, num_negative)
                          : MeanMagnitude({others}, count - num_negative);
      case Scale::kLargest:
        return largest;
      case Scale::kNorm:
        return EuclideanNormOf(squares);
      default:
        return 1;
    }
  }
};

struct AddSums {
  __device__ BucketSums operator()(BucketSums a, const BucketSums& b) const {
    a.others += b.others;
    a.negatives += b.negatives;
    a.squares += b.squares;
    a.num_negative += b.num_negative;
    a.largest = fmaxf(a.largest, b.largest);
    return a;
  }
};

// A block takes a bucket at a time.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    ScaleKernel(const __grid_constant__ CodedParts a) {
  using Reduce = cub::BlockReduce<BucketSums, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const int64_t buckets = Quotient(a.longest, a.bucket_size);
  for (int64_t t = blockIdx.x; t < a.num_parts * buckets; t += gridDim.x) {
    const CodedPart& part = a.parts[t / buckets];
    const int64_t bucket = t % buckets;
    const int64_t begin = bucket * a.bucket_size;
    const int64_t end = min(begin + a.bucket_size, part.count);
    if (begin >= end) continue;
    BucketSums mine;
#pragma unroll 4
    for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
      mine.Add(part.values[i]);
    }
    const BucketSums sums = Reduce(storage).Reduce(mine, AddSums());
    for (int k = 0; threadIdx.x == 0 && k < a.scales_each; ++k) {
      const int64_t at = bucket * a.scales_each + k;
      const float scale = sums.ScaleOf(a.scale, end - begin, k);
      part.scales[at] = part.out_scales[at] = scale;
    }
    __syncthreads();
  }
}

// Each of these makes the code of a value, and replaces it with the error. No
// product is fused with a difference.
template <class Format>
struct Narrow {
  static __device__ uint32_t Take(const CodedParts&, const float*, float,
                                  float* value) {
    const uint16_t code = Format::Narrow(*value);
    *value = __fsub_rn(*value, Format::Widen(code));
    return code;
  }
};

template <class Levels>
struct ToLevel {
  static __device__ uint32_t Take(const CodedParts& a, const float* scale,
                                  float draw, float* value) {
    return TakeLevel(Levels(), *scale, a.bits, draw, value);
  }
};

struct ToNatural {
  static __device__ uint32_t Take(const CodedParts&, const float*, float draw,
                                  float* value) {
    return TakeNatural(draw, value);
  }
};

struct ToSign {
  static __device__ uint32_t Take(const CodedParts& a, const float* means,
                                  float, float* value) {
    return TakeSign(means[0], means[a.scales_each - 1], value);
  }
};

struct ToPair {
  static __device__ uint32_t Take(const CodedParts& a, const float*, float,
                                  float* value) {
    return TakePair(a.threshold, value);
  }
};

// The byte with its pairs of bits in reverse order.
__device__ uint32_t PairsReversed(uint32_t byte) {
  byte = (byte & 0xf) << 4 | byte >> 4;
  return (byte & 0x33) << 2 | (byte >> 2 & 0x33);
}

constexpr int kCodeThreads = 256;
constexpr int kValues = 8;  // A thread's at a time: as many bytes as bits.
constexpr int64_t kCodeTile = kCodeThreads * kValues;
constexpr int kMaxBits = 16;
// The bus is slower than a few multiprocessors, and the backward pass needs the
// others.
constexpr int64_t kMaxCodeBlocks = 128;
constexpr int64_t kMaxScaleBlocks = 4096;

// A block takes a tile at a time, and writes its bytes as words of neighbouring
// threads.
template <class Code>
__global__ void __launch_bounds__(kCodeThreads)
    CodeKernel(const __grid_constant__ CodedParts a) {
  __shared__ uint32_t words[kCodeThreads * kValues * kMaxBits / 32];
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(words);
  const int64_t tiles = Quotient(a.longest, kCodeTile);
  for (int64_t t = blockIdx.x; t < a.num_parts * tiles; t += gridDim.x) {
    const CodedPart& part = a.parts[t / tiles];
    const int64_t tile = t % tiles;
    const int64_t size = min(part.count - tile * kCodeTile, kCodeTile);
    if (size <= 0) continue;
    const int64_t first = tile * kCodeTile + threadIdx.x * kValues;
    float x[kValues / kFour][kFour];
    FourOf fours[kValues / kFour];
#pragma unroll
    for (int j = 0; j < kValues / kFour; ++j) {
      fours[j].begin = first + j * kFour;
      fours[j].size = static_cast<int>(
          max(int64_t{0}, min(part.count - fours[j].begin, int64_t{kFour})));
      fours[j].Load(part.values, x[j]);
    }
    DrawSequence draws(part.random_key);
    uint8_t* next = bytes + threadIdx.x * a.bits;
    uint32_t window = 0;
    int held = 0;  // Bits of the window.
#pragma unroll
    for (int k = 0; k < kValues; ++k) {
      const uint32_t i = static_cast<uint32_t>(first) + k;
      if (k % kFour < fours[k / kFour].size) {
        window |=
            Code::Take(a, part.scales + i / a.bucket_size * a.scales_each,
                       a.draws ? draws.At(i) : 0.5f, &x[k / kFour][k % kFour])
            << held;
      }
      for (held += a.bits; held >= 8; held -= 8, window >>= 8) {
        const uint32_t byte = window & 0xff;
        *next++ = static_cast<uint8_t>(a.pairs ? PairsReversed(byte) : byte);
      }
    }
#pragma unroll
    for (int j = 0; j < kValues / kFour; ++j) fours[j].Store(x[j], part.values);
    __syncthreads();
    uint8_t* const out = part.out_codes + tile * kCodeThreads * a.bits;
    const int num_bytes = static_cast<int>(Quotient(size * a.bits, 8));
    for (int w = threadIdx.x; w < num_bytes / 4; w += kCodeThreads) {
      reinterpret_cast<uint32_t*>(out)[w] = words[w];
    }
    const int b = num_bytes / 4 * 4 + static_cast<int>(threadIdx.x);
    if (b < num_bytes) out[b] = bytes[b];
    __syncthreads();
  }
}

// A code whose numbers all have the same bits.
struct WholeCode {
  ValueCode number;
  Scale scale;
  int bits;  // 0: the config's.
  void (*kernel)(CodedParts);
};

const WholeCode kWholeCodes[] = {
    {ValueCode::kFp16, Scale::kNone, 16, CodeKernel<Narrow<Fp16>>},
    {ValueCode::kBf16, Scale::kNone, 16, CodeKernel<Narrow<Bf16>>},
    {ValueCode::kNatural, Scale::kNone, kNaturalBits, CodeKernel<ToNatural>},
    {ValueCode::kTwoBitThreshold, Scale::kNone, 2, CodeKernel<ToPair>},
    {ValueCode::kSign, Scale::kMean, 1, CodeKernel<ToSign>},
    {ValueCode::kOneBit, Scale::kMeanOfEachSign, 1, CodeKernel<ToSign>},
    {ValueCode::kInt8Block, Scale::kLargest, 8,
     CodeKernel<ToLevel<UniformLevels>>},
    {ValueCode::kQsgd, Scale::kNorm, 0, CodeKernel<ToLevel<UniformLevels>>},
    {ValueCode::kQsgdInf, Scale::kLargest, 0,
     CodeKernel<ToLevel<UniformLevels>>},
    {ValueCode::kNuqsgd, Scale::kNorm, 0,
     CodeKernel<ToLevel<ExponentialLevels>>},
    {ValueCode::kNaturalDithering, Scale::kLargest, 0,
     CodeKernel<ToLevel<ExponentialLevels>>},
};

// Null for other codes, fp32 among them.
const WholeCode* FindWholeCode(const PayloadCodes& codes) {
  const ValueCode number =
      ValueCodecs().Find(codes.value_code).value()->number();
  for (const WholeCode& code : kWholeCodes) {
    if (code.number != number) continue;
    const bool fixed = code.bits > 0 || codes.value_config.integer_code() ==
                                            ValueCodeConfig::FIXED;
    return fixed ? &code : nullptr;
  }
  return nullptr;
}

class WholeVectorsImpl final : public WholeVectors {
 public:
  explicit WholeVectorsImpl(SparseWork* work) : work_(work) {}

  bool Knows(const PayloadCodes& codes) const override {
    return codes.value_code == "fp32" || FindWholeCode(codes) != nullptr;
  }

  absl::StatusOr<std::vector<PayloadBuffer>> Encode(
      const PayloadCodes& codes, absl::Span<const WholePart> parts,
      float* u) override {
    const ValueCodec& codec = *ValueCodecs().Find(codes.value_code).value();
    const WholeCode* const code = FindWholeCode(codes);
    std::string prefix;  // What comes before the scales.
    CodedParts batch = BatchOf(codes, codec, code, &prefix);
    std::vector<PayloadInfo> infos;
    int64_t size_bytes = 0;
    int64_t num_scales = 0;
    int64_t begin = 0;
    for (const WholePart& part : parts) {
      PayloadInfo info;
      info.value_code = codec.number();
      info.count = info.dense_size = part.end - begin;
      info.value_bytes = codec.MaxEncodedSize(info.count, codes.value_config);
      size_bytes += BytesFor(info);
      num_scales += NumScales(batch, info.count);
      infos.push_back(info);
      begin = part.end;
    }
    PS_RETURN_IF_ERROR(work_->streams().MakeCurrent());
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<uint8_t[]> block,
                        blocks_.Acquire(size_bytes));
    PS_RETURN_IF_ERROR(
        scales_.Reserve(work_, num_scales, "scales of a whole vector"));
    PS_RETURN_IF_ERROR(work_->Begin());
    std::vector<PayloadBuffer> payloads;
    uint8_t* next = block.get();
    float* scales = scales_.get();
    for (size_t p = 0; p < parts.size(); ++p) {
      const PayloadInfo& info = infos[p];
      if (info.count == 0) {
        PS_ASSIGN_OR_RETURN(PayloadBuffer nothing, EncodeDenseAs(codes, {}));
        payloads.push_back(std::move(nothing));
        continue;
      }
      payloads.push_back(
          PayloadOver(info, std::shared_ptr<uint8_t[]>(block, next)));
      uint8_t* const out = next + kPayloadHeaderBytes;
      next += BytesFor(info);
      float* const values = u + parts[p].end - info.count;
      if (code == nullptr) {
        PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(out, values, info.value_bytes,
                                                cudaMemcpyDeviceToHost,
                                                work_->stream()));
        continue;
      }
      std::copy(prefix.begin(), prefix.end(), out);
      const int64_t scales_here = NumScales(batch, info.count);
      CodedPart& part = batch.parts[batch.num_parts++];
      part.values = values;
      part.count = info.count;
      part.random_key = parts[p].random_key;
      part.scales = scales;
      part.out_scales = reinterpret_cast<float*>(out + prefix.size());
      part.out_codes =
          reinterpret_cast<uint8_t*>(part.out_scales + scales_here);
      scales += scales_here;
      batch.longest = std::max(batch.longest, info.count);
      if (batch.num_parts == kMaxParts) {
        PS_RETURN_IF_ERROR(Launch(*code, &batch));
      }
    }
    if (code == nullptr) {
      PS_RETURN_IF_CUDA_ERROR(
          cudaMemsetAsync(u, 0, begin * sizeof(float), work_->stream()));
    } else {
      PS_RETURN_IF_ERROR(Launch(*code, &batch));
    }
    PS_RETURN_IF_ERROR(work_->Await());
    return payloads;
  }

 private:
  // Returns what the parts of a vector have in common.
  static CodedParts BatchOf(const PayloadCodes& codes, const ValueCodec& codec,
                            const WholeCode* code, std::string* prefix) {
    CodedParts batch;
    batch.bucket_size = static_cast<uint32_t>(kMaxDenseSize);
    if (code == nullptr) return batch;
    const ValueCodeConfig& config = codes.value_config;
    const auto set_prefix = [prefix](const auto& value) {
      prefix->assign(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    batch.draws = codec.RoundsAtRandom();
    batch.bits = code->bits > 0 ? code->bits : config.bits();
    batch.scale = code->scale;
    if (code->number == ValueCode::kSign &&
        config.sign_scale() == ValueCodeConfig::ONE) {
      batch.scale = Scale::kOne;
    }
    batch.scales_each = batch.scale == Scale::kNone             ? 0
                        : batch.scale == Scale::kMeanOfEachSign ? 2
                                                                : 1;
    if (batch.scale == Scale::kLargest || batch.scale == Scale::kNorm) {
      batch.bucket_size = static_cast<uint32_t>(config.bucket_size());
      LevelHeader header;
      header.bits = static_cast<uint8_t>(batch.bits);
      header.bucket_size = batch.bucket_size;
      set_prefix(header);
    }
    if (code->number == ValueCode::kTwoBitThreshold) {
      batch.threshold = config.threshold();
      batch.pairs = true;
      set_prefix(batch.threshold);
    }
    return batch;
  }

  static int64_t NumScales(const CodedParts& batch, int64_t count) {
    return Quotient(count, batch.bucket_size) * batch.scales_each;
  }

  // 0 for an empty part, whose payload lies elsewhere.
  static int64_t BytesFor(const PayloadInfo& info) {
    return info.count == 0
               ? 0
               : Quotient(PayloadBytes(info), kAlignment) * kAlignment;
  }

  // Queues the parts of a batch, and clears it.
  absl::Status Launch(const WholeCode& code, CodedParts* batch) {
    if (batch->num_parts == 0) return absl::OkStatus();
    const auto launch = [&](void (*kernel)(CodedParts), int threads,
                            int64_t tasks, int64_t max_blocks) -> absl::Status {
      const int64_t blocks = std::min(tasks * batch->num_parts, max_blocks);
      kernel<<<static_cast<unsigned>(blocks), threads, 0, work_->stream()>>>(
          *batch);
      return CudaToStatus(cudaGetLastError(), "cudaLaunchKernel");
    };
    if (batch->scales_each > 0) {
      const int64_t buckets = Quotient(batch->longest, batch->bucket_size);
      // Many threads for a whole part, few for a usual bucket.
      PS_RETURN_IF_ERROR(
          batch->bucket_size > 4096
              ? launch(ScaleKernel<1024>, 1024, buckets, kMaxScaleBlocks)
              : launch(ScaleKernel<64>, 64, buckets, kMaxScaleBlocks));
    }
    PS_RETURN_IF_ERROR(launch(code.kernel, kCodeThreads,
                              Quotient(batch->longest, kCodeTile),
                              kMaxCodeBlocks));
    batch->num_parts = 0;
    batch->longest = 0;
    return absl::OkStatus();
  }

  SparseWork* const work_;  // Not owned.
  PinnedBlocks blocks_;
  DeviceRoom<float> scales_;
};

}  // namespace

PS_REGISTER_ON_DEVICE(WholeVectors, WholeVectorsImpl);

}  // namespace ps
