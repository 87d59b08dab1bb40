// Kernels of which it is known what their machine code must look like. Nothing
// runs them.

namespace ps {

// Nothing makes a load wait for another one.
__global__ void __launch_bounds__(256)
    TogetherExample(const float* x, float* y) {
  float loaded[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) loaded[k] = x[k * 256 + threadIdx.x];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += loaded[k];
  y[threadIdx.x] = sum;
}

// The address of each load is the result of the one before.
__global__ void __launch_bounds__(256) InTurnExample(const int* next, int* y) {
  int at = threadIdx.x;
#pragma unroll
  for (int k = 0; k < 8; ++k) at = next[at];
  y[threadIdx.x] = at;
}

// Two loads of 16 bytes.
__global__ void __launch_bounds__(256)
    VectorExample(const float4* x, float* y) {
  const float4 a = x[threadIdx.x];
  const float4 b = x[threadIdx.x + 256];
  y[threadIdx.x] = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
}

// Holds 64 values at once, with 32 registers for each thread.
__global__ void __launch_bounds__(1024, 2)
    SpillExample(const float* x, float* y) {
  float loaded[64];
#pragma unroll
  for (int k = 0; k < 64; ++k) loaded[k] = x[k * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 64; ++k) y[k * 1024 + threadIdx.x] = loaded[63 - k];
}

__device__ __noinline__ float Outlined(const float* x, int which) {
  float loaded[8];
  for (int k = 0; k < 8; ++k) loaded[k] = x[k];
  return loaded[which & 7];
}

// Only the function that it calls uses local memory.
__global__ void __launch_bounds__(256) CallExample(const float* x, float* y) {
  y[threadIdx.x] = Outlined(x, threadIdx.x);
}

__global__ void UnboundedExample(float* y) {
  __shared__ float shared[1000];
  shared[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = shared[999 - threadIdx.x];
}

}  // namespace ps
