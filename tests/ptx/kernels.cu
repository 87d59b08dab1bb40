// Small kernels that use each kind of instruction, and some with mistakes.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "tests/ptx/kernels.h"

namespace ptx {
namespace {

__global__ void Integers(uint32_t a, uint32_t b, uint32_t c, uint32_t* out) {
  const auto x = static_cast<int32_t>(a);
  const auto y = static_cast<int32_t>(b);
  int i = 0;
  out[i++] = __umulhi(a, b);
  out[i++] = __mulhi(x, y);
  out[i++] = __brev(a);
  out[i++] = __clz(x);
  out[i++] = __popc(a);
  out[i++] = __ffs(x);
  out[i++] = __funnelshift_l(a, b, c);
  out[i++] = __funnelshift_r(a, b, c);
  out[i++] = __funnelshift_lc(a, b, c);
  out[i++] = a / (b | 1);
  out[i++] = a % (b | 1);
  out[i++] = x / (y | 1);
  out[i++] = x % (y | 1);
  out[i++] = min(x, y);
  out[i++] = max(a, b);
  out[i++] = static_cast<uint32_t>(static_cast<int8_t>(a));
  out[i++] = __dp4a(x, y, static_cast<int>(c));
  // %0 is the result, %1 to %3 are a, b and c.
#define PTX_ASM(text) \
  asm(text : "=r"(out[i++]) : "r"(a), "r"(b), "r"(c), "r"(b & 31), "r"(b & 63))
  PTX_ASM("bfe.u32 %0, %1, %4, 7;");
  PTX_ASM("bfe.s32 %0, %1, %4, 9;");
  PTX_ASM("bfi.b32 %0, %1, %2, 5, 11;");
  PTX_ASM("lop3.b32 %0, %1, %2, %3, 0x6a;");
  PTX_ASM("prmt.b32 %0, %1, %2, 0xb742;");
  PTX_ASM("bfind.s32 %0, %1;");
  PTX_ASM("bfind.shiftamt.u32 %0, %1;");
  PTX_ASM("shl.b32 %0, %1, 32;");
  PTX_ASM("shr.s32 %0, %1, 40;");
  PTX_ASM("sad.s32 %0, %1, %2, %3;");
  PTX_ASM(
      "{ .reg .u32 low, high; add.cc.u32 low, %1, %2; addc.u32 %0, %3, 5; }");
  PTX_ASM("{ .reg .u32 low; sub.cc.u32 low, %1, %2; subc.u32 %0, %3, 5; }");
  PTX_ASM("bmsk.clamp.b32 %0, 3, %5;");
  PTX_ASM("cvt.sat.u8.s32 %0, %1;");
  PTX_ASM(
      "{ .reg .pred p, q; setp.lt.s32 p|q, %1, %2; selp.b32 %0, 1, 2, q; }");
  PTX_ASM("slct.b32.s32 %0, %1, %2, %3;");
  PTX_ASM("mad.hi.s32 %0, %1, %2, %3;");
  PTX_ASM("cnot.b32 %0, %1;");
#undef PTX_ASM
}

__global__ void LongIntegers(uint64_t a, uint64_t b, uint64_t* out) {
  const auto x = static_cast<int64_t>(a);
  const auto y = static_cast<int64_t>(b);
  int i = 0;
  out[i++] = __umul64hi(a, b);
  out[i++] = __mul64hi(x, y);
  out[i++] = __brevll(a);
  out[i++] = __clzll(x);
  out[i++] = __popcll(a);
  out[i++] = a / (b | 1);
  out[i++] = static_cast<uint64_t>(x % (y | 1));
  out[i++] = static_cast<uint64_t>(x >> (b & 63));
  const unsigned __int128 sum = static_cast<unsigned __int128>(a) + b;
  out[i++] = static_cast<uint64_t>(sum >> 64);
  out[i++] = static_cast<uint64_t>(
      (static_cast<unsigned __int128>(a) * b - sum) >> 64);
}

__global__ void Floats(float a, float b, float c, float* out) {
  int i = 0;
  out[i++] = __fadd_rz(a, b);
  out[i++] = __fmul_ru(a, b);
  out[i++] = __fmaf_rd(a, b, c);
  out[i++] = __fdiv_ru(a, b);
  out[i++] = __frcp_rn(a);
  out[i++] = __fsqrt_rn(fabsf(a));
  out[i++] = fminf(a, nanf(""));
  out[i++] = fmaxf(-0.0f, 0.0f * a * a);
  out[i++] = __saturatef(a);
  out[i++] = copysignf(a, c);
  out[i++] = rintf(a);
  out[i++] = floorf(a);
  out[i++] = a / b;
  out[i++] = fmaf(a, b, c);
  // Approximations.
  out[i++] = exp2f(b);
  out[i++] = __log2f(fabsf(a));
  out[i++] = __sinf(b);
  out[i++] = __cosf(b);
  out[i++] = rsqrtf(fabsf(a));
  out[i++] = tanhf(b);
  out[i++] = __fdividef(a, b);
}

__global__ void Doubles(double a, double b, double c, double* out) {
  int i = 0;
  out[i++] = a + b;
  out[i++] = a / b;
  out[i++] = fma(a, b, c);
  out[i++] = sqrt(fabs(a));
  out[i++] = __dadd_ru(a, b);
  out[i++] = __dmul_rz(a, b);
  out[i++] = exp(b);
  out[i++] = log(fabs(a));
  out[i++] = pow(fabs(a), b);
  out[i++] = fmod(a, b);
}

__global__ void Conversions(float a, double b, int64_t* out) {
  int i = 0;
  out[i++] = __float2int_rn(a);
  out[i++] = __float2int_rz(a);
  out[i++] = __float2int_ru(a);
  out[i++] = __float2int_rd(a);
  out[i++] = __float2uint_rz(a);
  out[i++] = __float2ll_rz(a);
  out[i++] = __double2ll_rn(b);
  out[i++] = static_cast<int64_t>(__double2ull_rz(b));
  out[i++] = __double2int_rd(b);
  out[i++] = __float_as_int(__double2float_rz(b));
  out[i++] = __float_as_int(__ll2float_rn(__double2ll_rn(b)));
  out[i++] = __float_as_int(__uint2float_ru(__float_as_uint(a)));
  out[i++] = static_cast<int16_t>(a);
}

__global__ void Halves(float a, float b, float c, uint16_t* out) {
  int i = 0;
  const __nv_bfloat16 x = __float2bfloat16(a);
  const __nv_bfloat16 y = __float2bfloat16(b);
  const __nv_bfloat16 z = __float2bfloat16(c);
  out[i++] = __bfloat16_as_ushort(x);
  out[i++] = __bfloat16_as_ushort(__float2bfloat16_rz(a));
  out[i++] = __bfloat16_as_ushort(__hadd(x, y));
  out[i++] = __bfloat16_as_ushort(__hmul(x, y));
  out[i++] = __bfloat16_as_ushort(__hfma(x, y, z));
  out[i++] = __bfloat16_as_ushort(__hmax(x, y));
  out[i++] = __bfloat16_as_ushort(__hneg(x));
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  out[i++] = __bfloat16_as_ushort(__low2bfloat16(pair));
  out[i++] = __bfloat16_as_ushort(
      __high2bfloat16(__hadd2(pair, __halves2bfloat162(y, z))));
  const __half h = __float2half(a);
  out[i++] = __half_as_ushort(h);
  out[i++] = __half_as_ushort(__float2half_rz(b));
  out[i++] = __half_as_ushort(__hadd(h, __float2half(b)));
  out[i++] = __bfloat16_as_ushort(__float2bfloat16(__half2float(h)));
  out[i++] = __hlt(x, y);
}

__global__ void Warps(const uint32_t* in, uint32_t* out) {
  const uint32_t thread = threadIdx.x;
  const uint32_t x = in[thread];
  constexpr uint32_t kAll = 0xffffffff;
  uint32_t* to = out + thread;
  const auto put = [&](uint32_t value) {
    *to = value;
    to += blockDim.x;
  };
  put(__shfl_sync(kAll, x, (thread + 5) % 32));
  put(__shfl_up_sync(kAll, x, 3));
  put(__shfl_down_sync(kAll, x, 7, 16));
  put(__shfl_xor_sync(kAll, x, 9));
  put(__ballot_sync(kAll, x & 1));
  put(__any_sync(kAll, x == 4));
  put(__all_sync(kAll, x < 1000));
  put(__match_any_sync(kAll, x % 4));
  int same = 0;
  put(__match_all_sync(kAll, x / 1000, &same));
  put(same);
  put(__reduce_add_sync(kAll, x));
  put(__reduce_min_sync(kAll, static_cast<int>(x) - 50));
  put(__reduce_max_sync(kAll, x));
  put(__reduce_xor_sync(kAll, x));
  uint32_t lanes = 0;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
  put(lanes);
  // Half a warp at a time, each half with its own mask.
  if (thread % 32 < 16) {
    put(__reduce_or_sync(0x0000ffff, x));
  } else {
    put(__reduce_and_sync(0xffff0000, x));
  }
  put(__popc(__activemask()) >= 1);
}

__device__ unsigned long long total = 40;

__global__ void Atomics(unsigned long long* out) {
  __shared__ unsigned count;
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) count = 0, sum = 0;
  __syncthreads();
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  atomicInc(&count, 6);
  atomicAdd(&sum, static_cast<unsigned long long>(threadIdx.x) << 20);
  __syncthreads();
  atomicAdd(&out[0], 1ull);
  atomicMax(&out[1], static_cast<unsigned long long>(id));
  atomicMin(reinterpret_cast<int*>(&out[2]), -static_cast<int>(id));
  atomicOr(reinterpret_cast<unsigned*>(&out[3]), 1u << id % 32);
  atomicXor(reinterpret_cast<unsigned*>(&out[4]), id);
  atomicAnd(reinterpret_cast<unsigned*>(&out[5]), ~(1u << id % 3));
  atomicAdd(reinterpret_cast<float*>(&out[6]), 0.5f);
  atomicAdd(reinterpret_cast<double*>(&out[7]), 0.25);
  atomicAdd(&total, 2ull);
  // A sum by compare and swap.
  unsigned long long old = atomicAdd(&out[8], 0ull);
  unsigned long long seen = 0;
  do {
    seen = old;
    old = atomicCAS(&out[8], seen, seen + id);
  } while (old != seen);
  if (threadIdx.x == 0) {
    atomicExch(&out[9], sum);
    atomicAdd(&out[10], static_cast<unsigned long long>(count));
  }
  atomicAdd(&out[11], atomicAdd(&total, 0ull) > 40 ? 1ull : 0ull);
}

__constant__ float table[4] = {1, 2, 4, 8};

__device__ __noinline__ float Weighted(const float4& four, const float* weights,
                                       int n) {
  const float values[4] = {four.x, four.y, four.z, four.w};
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i] * weights[i];
  return sum;
}

__global__ void Memory(const float* in, float* out) {
  extern __shared__ float dynamic[];
  const float4 four = reinterpret_cast<const float4*>(in)[threadIdx.x];
  float weights[4];
  for (int i = 0; i < 4; ++i) weights[(i + threadIdx.x) % 4] = table[i];
  dynamic[threadIdx.x] = Weighted(four, weights, 4);
  __syncthreads();
  out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

__global__ void Barriers(uint32_t* out) {
  const uint32_t thread = threadIdx.x;
  __shared__ uint32_t passed[96];
  out[thread * 4] = __syncthreads_count(thread % 3 == 0);
  out[thread * 4 + 1] = __syncthreads_or(thread == 5);
  out[thread * 4 + 2] = __syncthreads_and(thread != 5);
  // Two warps make something for the third one, which alone waits.
  if (thread < 64) {
    passed[thread] = thread + 1;
    asm volatile("bar.arrive 1, 96;" ::: "memory");
    out[thread * 4 + 3] = 0;
  } else {
    asm volatile("bar.sync 1, 96;" ::: "memory");
    out[thread * 4 + 3] = passed[thread - 64] + passed[thread - 32];
  }
}

// barrier: arrivals, and rounds.
template <bool kFences>
__global__ void GridBarrier(int rounds, uint32_t* values, uint32_t* barrier) {
  const uint32_t id = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t n = gridDim.x * blockDim.x;
  for (int r = 0; r < rounds; ++r) {
    const uint32_t other = values[(id + 65) % n];
    for (int half = 0; half < 2; ++half) {
      __syncthreads();
      if (threadIdx.x == 0) {
        const uint32_t round = *static_cast<volatile uint32_t*>(&barrier[1]);
        if (kFences) __threadfence();
        if (atomicAdd(&barrier[0], 1) == gridDim.x - 1) {
          barrier[0] = 0;
          if (kFences) __threadfence();
          atomicAdd(&barrier[1], 1);
        } else {
          while (*static_cast<volatile uint32_t*>(&barrier[1]) == round) {
          }
        }
        if (kFences) __threadfence();
      }
      __syncthreads();
      if (half == 0) values[id] = other + 1;
    }
  }
}

__global__ void Product(float a, float b, float c, float* separate,
                        float* fused) {
  *separate = a * b + c;
  *fused = __fmaf_rn(a, b, c);
}

template <Mistake kMistake>
__global__ void Wrong(bool is_wrong, float* data) {
  __shared__ alignas(16) float shared[64];
  const unsigned thread = threadIdx.x;
  const unsigned half = blockDim.x / 2;
  switch (kMistake) {
    case Mistake::kMissingBarrier:
      shared[63 - thread] = 0;
      __syncthreads();
      shared[thread] = data[thread];
      if (!is_wrong) __syncthreads();
      data[thread] = shared[63 - thread];
      break;
    case Mistake::kDivergentBarrier:
      shared[thread] = data[thread];
      if (is_wrong && thread < half) {
        asm volatile("bar.sync 0;" ::: "memory");
        data[thread] = shared[thread];
      } else if (is_wrong) {
        data[thread] = 0;
        asm volatile("bar.sync 0;" ::: "memory");
      }
      break;
    case Mistake::kUnalignedVector:
      if (thread == 0) {
        *reinterpret_cast<float4*>(data + (is_wrong ? 1 : 4)) =
            *reinterpret_cast<float4*>(data);
      }
      break;
    case Mistake::kBeyondAllocation:
      data[thread + (is_wrong ? 1 : 0)] = 1;
      break;
    case Mistake::kGlobalRace:
      // By two blocks.
      if (thread == 7) data[is_wrong ? 3 : blockIdx.x] = blockIdx.x;
      break;
    case Mistake::kUninitialised:
      if (!is_wrong || thread != 9) shared[thread] = 1;
      __syncthreads();
      data[thread] = shared[63 - thread];
      break;
    case Mistake::kEndlessWait:
      if (thread == 3 && is_wrong) {
        while (*reinterpret_cast<volatile float*>(data) != 12345) {
        }
      }
      break;
    case Mistake::kMissingLane:
      if (thread != 4 || !is_wrong) {
        data[thread] = __shfl_sync(0xffffffff, data[thread], 4);
      } else {
        __syncthreads();
      }
      break;
    case Mistake::kMissingWarpSync:
      if (thread < 32) {
        shared[thread] = data[thread];
        if (!is_wrong) __syncwarp();
        data[thread] = shared[31 - thread];
      }
      break;
    case Mistake::kBeyondShared:
      shared[thread + (is_wrong ? 1 : 0)] = data[thread];
      __syncthreads();
      data[thread] = shared[thread];
      break;
    case Mistake::kTrap:
      if (is_wrong && thread == 11) __trap();
      break;
  }
}

}  // namespace

void RunIntegers(uint32_t a, uint32_t b, uint32_t c, uint32_t* out,
                 cudaStream_t stream) {
  Integers<<<1, 1, 0, stream>>>(a, b, c, out);
}
void RunLongIntegers(uint64_t a, uint64_t b, uint64_t* out,
                     cudaStream_t stream) {
  LongIntegers<<<1, 1, 0, stream>>>(a, b, out);
}
void RunFloats(float a, float b, float c, float* out, cudaStream_t stream) {
  Floats<<<1, 1, 0, stream>>>(a, b, c, out);
}
void RunDoubles(double a, double b, double c, double* out,
                cudaStream_t stream) {
  Doubles<<<1, 1, 0, stream>>>(a, b, c, out);
}
void RunConversions(float a, double b, int64_t* out, cudaStream_t stream) {
  Conversions<<<1, 1, 0, stream>>>(a, b, out);
}
void RunHalves(float a, float b, float c, uint16_t* out, cudaStream_t stream) {
  Halves<<<1, 1, 0, stream>>>(a, b, c, out);
}
void RunWarps(const uint32_t* in, uint32_t* out, cudaStream_t stream) {
  Warps<<<1, 64, 0, stream>>>(in, out);
}
void RunAtomics(uint64_t* out, cudaStream_t stream) {
  Atomics<<<3, 100, 0, stream>>>(reinterpret_cast<unsigned long long*>(out));
}
void RunMemory(const float* in, float* out, cudaStream_t stream) {
  Memory<<<1, 70, 70 * sizeof(float), stream>>>(in, out);
}
void RunBarriers(uint32_t* out, cudaStream_t stream) {
  Barriers<<<1, 96, 0, stream>>>(out);
}

cudaError_t RunGridBarrier(bool has_fences, int rounds, uint32_t* values,
                           uint32_t* barrier, cudaStream_t stream) {
  void* arguments[] = {&rounds, &values, &barrier};
  return cudaLaunchCooperativeKernel(
      has_fences ? reinterpret_cast<const void*>(GridBarrier<true>)
                 : reinterpret_cast<const void*>(GridBarrier<false>),
      dim3(3), dim3(64), arguments, 0, stream);
}

void RunProduct(float a, float b, float c, float* separate, float* fused,
                cudaStream_t stream) {
  Product<<<1, 1, 0, stream>>>(a, b, c, separate, fused);
}

void RunMistake(Mistake mistake, bool is_wrong, float* data,
                cudaStream_t stream) {
  switch (mistake) {
#define PTX_CASE(kName, blocks)                                       \
  case Mistake::kName:                                                \
    Wrong<Mistake::kName><<<blocks, 64, 0, stream>>>(is_wrong, data); \
    break
    PTX_CASE(kMissingBarrier, 1);
    PTX_CASE(kDivergentBarrier, 1);
    PTX_CASE(kUnalignedVector, 1);
    PTX_CASE(kBeyondAllocation, 1);
    PTX_CASE(kGlobalRace, 2);
    PTX_CASE(kUninitialised, 1);
    PTX_CASE(kEndlessWait, 1);
    PTX_CASE(kMissingLane, 1);
    PTX_CASE(kMissingWarpSync, 1);
    PTX_CASE(kBeyondShared, 1);
    PTX_CASE(kTrap, 1);
#undef PTX_CASE
  }
}

}  // namespace ptx
