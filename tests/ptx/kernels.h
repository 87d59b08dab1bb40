// Kernels for the tests of this folder. Each launch is on `stream`.
#ifndef TESTS_PTX_KERNELS_H_
#define TESTS_PTX_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ptx {

// One thread each; what is computed is beside the expected values in
// instructions_test.cc.
void RunIntegers(uint32_t a, uint32_t b, uint32_t c, uint32_t* out,
                 cudaStream_t stream);
void RunLongIntegers(uint64_t a, uint64_t b, uint64_t* out,
                     cudaStream_t stream);
void RunFloats(float a, float b, float c, float* out, cudaStream_t stream);
void RunDoubles(double a, double b, double c, double* out, cudaStream_t stream);
void RunConversions(float a, double b, int64_t* out, cudaStream_t stream);
void RunHalves(float a, float b, float c, uint16_t* out, cudaStream_t stream);

// 64 threads; out: [24][64].
void RunWarps(const uint32_t* in, uint32_t* out, cudaStream_t stream);
// 3 blocks of 100 threads; out: [20].
void RunAtomics(uint64_t* out, cudaStream_t stream);
// 70 threads; in: [280]; out: [70].
void RunMemory(const float* in, float* out, cudaStream_t stream);
// 96 threads; out: [96 * 4].
void RunBarriers(uint32_t* out, cudaStream_t stream);
// A cooperative grid of 3 blocks of 64 threads that meet `rounds` times; in,
// out: [192]; barrier: two zeros. Without its fences the blocks race.
cudaError_t RunGridBarrier(bool has_fences, int rounds, uint32_t* values,
                           uint32_t* barrier, cudaStream_t stream);
// a b + c with two roundings, and with one.
void RunProduct(float a, float b, float c, float* separate, float* fused,
                cudaStream_t stream);

// Kernels with one fault each, if `is_wrong`. 64 threads; data: [64].
enum class Mistake {
  kMissingBarrier,
  kDivergentBarrier,
  kUnalignedVector,
  kBeyondAllocation,
  kGlobalRace,
  kUninitialised,
  kEndlessWait,
  kMissingLane,
  kMissingWarpSync,
  kBeyondShared,
  kTrap,
};
void RunMistake(Mistake mistake, bool is_wrong, float* data,
                cudaStream_t stream);

// CUB's algorithms; see its documentation for the scratch. Return errors.
cudaError_t Sum(void* scratch, size_t* bytes, const int* in, int* out, int n,
                cudaStream_t stream);
cudaError_t InclusiveSums(void* scratch, size_t* bytes, const int* in, int* out,
                          int n, cudaStream_t stream);
cudaError_t SelectFlagged(void* scratch, size_t* bytes, const int* in,
                          const char* flags, int* out, int* count, int n,
                          cudaStream_t stream);
cudaError_t SortKeys(void* scratch, size_t* bytes, const uint64_t* in,
                     uint64_t* out, int n, cudaStream_t stream);
cudaError_t SortPairs(void* scratch, size_t* bytes, const uint32_t* in,
                      uint32_t* out, const int* values, int* sorted, int n,
                      cudaStream_t stream);
cudaError_t Histogram(void* scratch, size_t* bytes, const float* in, int* bins,
                      int num_bins, int n, cudaStream_t stream);
// in: [128]; out: its sum, its exclusive sums [128], and its warps' sums [4].
void BlockAlgorithms(const int* in, int* out, cudaStream_t stream);

}  // namespace ptx

#endif  // TESTS_PTX_KERNELS_H_
