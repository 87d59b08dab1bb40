// CUDA's runtime on the CPU: what nvcc's objects register, and the launches of
// kernels and what can be asked about them.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/ptx/device.h"
#include "tests/ptx/grid.h"
#include "tests/ptx/runtime.h"

namespace ptx {
namespace {

// The device is an H100 or H200, but for its multiprocessors.
constexpr int kArchitecture = 90;
constexpr int kMaxThreads = 1024;
constexpr size_t kSharedBytes = 48 << 10;  // What is static and dynamic.
constexpr size_t kProcessorSharedBytes = 228 << 10;

Order order = Order::kForward;
uint32_t shuffle_seed = 0;
bool races_are_checked = true;
int num_processors = 3;
int blocks_each = 1;

bool faults_are_caught = false;
std::string fault;

// The mangled name that a host function's address stands for.
std::map<const void*, std::string>& Functions() {
  static auto* const functions = new std::map<const void*, std::string>();
  return *functions;
}

// The kernel of a host function, or null after an error.
const Kernel* Find(const void* host_function) {
  const auto found = Functions().find(host_function);
  const Kernel* kernel = nullptr;
  if (found != Functions().end()) {
    kernel = FindKernel(found->second);
    if (kernel == nullptr) {
      ReportFault("no translation of the kernel " +
                  Demangled(found->second.c_str()) +
                  " is linked: add the _ptx library of its cuda_library");
    }
  }
  if (kernel == nullptr) SetLastError(cudaErrorInvalidDeviceFunction);
  return kernel;
}

struct Configuration {
  dim3 blocks;
  dim3 threads;
  size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

std::vector<const char*> launched;  // Since the last TakeLaunches.

int BlocksPerProcessor(const Kernel& kernel, int threads, size_t dynamic) {
  if (threads < 1 || threads > static_cast<int>(kernel.max_threads)) return 0;
  const size_t shared = kernel.shared_bytes + dynamic + 1024;
  return std::min({blocks_each, 2048 / ((threads + 31) / 32 * 32),
                   static_cast<int>(kProcessorSharedBytes / shared)});
}

cudaError_t Launch(const void* host_function, const dim3& blocks,
                   const dim3& threads, void** values, size_t dynamic_bytes,
                   cudaStream_t stream, bool is_cooperative) {
  const CallLock lock;
  const Kernel* const kernel = Find(host_function);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  const uint64_t num_threads = uint64_t{threads.x} * threads.y * threads.z;
  const uint64_t num_blocks = uint64_t{blocks.x} * blocks.y * blocks.z;
  if (num_threads == 0 || num_threads > kMaxThreads || threads.z > 64 ||
      num_blocks == 0 || blocks.x > 0x7fffffff || blocks.y > 65535 ||
      blocks.z > 65535) {
    return SetLastError(cudaErrorInvalidConfiguration);
  }
  if (num_threads > kernel->max_threads) {
    return SetLastError(cudaErrorLaunchFailure);
  }
  if (kernel->shared_bytes + dynamic_bytes > kSharedBytes) {
    return SetLastError(cudaErrorInvalidValue);
  }
  // A limit of races.h's.
  if (num_blocks * num_threads >= uint64_t{1} << 30) {
    ReportFault(Demangled(kernel->name) +
                ": the grid has more than 2^30 threads");
    return SetLastError(cudaErrorInvalidConfiguration);
  }
  const int resident =
      BlocksPerProcessor(*kernel, static_cast<int>(num_threads), dynamic_bytes);
  if (is_cooperative &&
      num_blocks > static_cast<uint64_t>(resident) * num_processors) {
    return SetLastError(cudaErrorCooperativeLaunchTooLarge);
  }
  launched.push_back(kernel->name);
  Grid grid;
  grid.kernel = kernel;
  grid.num_blocks = {blocks.x, blocks.y, blocks.z};
  grid.num_threads = {threads.x, threads.y, threads.z};
  grid.dynamic_shared_bytes = static_cast<uint32_t>(dynamic_bytes);
  for (size_t i = 0; i < kernel->parameter_bytes.size(); ++i) {
    const auto* const value = static_cast<const uint8_t*>(values[i]);
    grid.parameters.emplace_back(value, value + kernel->parameter_bytes[i]);
  }
  return SetLastError(
      QueueOnStream(stream, [grid = std::move(grid)] { GridRun(grid).Run(); }));
}

// Those that CUB or this tree asks for.
const std::map<int, int>& Attributes() {
  static auto* const attributes = new std::map<int, int>{
      {cudaDevAttrComputeCapabilityMajor, kArchitecture / 10},
      {cudaDevAttrComputeCapabilityMinor, kArchitecture % 10},
      {cudaDevAttrMaxThreadsPerBlock, kMaxThreads},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMaxGridDimX, 0x7fffffff},
      {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxSharedMemoryPerBlock, kSharedBytes},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, kProcessorSharedBytes},
      {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrMaxRegistersPerBlock, 65536},
      {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrUnifiedAddressing, 1},
  };
  return *attributes;
}

}  // namespace

void SetOrder(Order new_order, uint32_t seed) {
  order = new_order;
  shuffle_seed = seed;
}
Order CurrentOrder() { return order; }
uint32_t ShuffleSeed() { return shuffle_seed; }

void SetMultiprocessors(int count, int each) {
  num_processors = count;
  blocks_each = each;
}

std::vector<std::string> TakeLaunches() {
  const CallLock lock;
  std::vector<std::string> names;
  for (const char* const name : launched) names.push_back(Demangled(name));
  launched.clear();
  return names;
}

void CheckRaces(bool check) { races_are_checked = check; }
bool RacesAreChecked() { return races_are_checked; }

FaultCatcher::FaultCatcher() {
  faults_are_caught = true;
  fault.clear();
}
FaultCatcher::~FaultCatcher() {
  faults_are_caught = false;
  fault.clear();
}
const std::string& FaultCatcher::message() const { return fault; }

void ReportFault(const std::string& message) {
  Require(faults_are_caught, message);
  if (fault.empty()) fault = message;
}

cudaError_t FaultOr(cudaError_t error) {
  return fault.empty() ? error : SetLastError(cudaErrorLaunchFailure);
}

extern "C" {

void** __cudaRegisterFatBinary(void* binary) { return new void*(binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int,
                       int) {}

void __cudaRegisterFunction(void**, const char* host_function, char*,
                            const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  Functions()[host_function] = name;
}

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads,
                                     size_t shared_bytes, cudaStream_t stream) {
  configurations.push_back({blocks, threads, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads,
                                       size_t* shared_bytes,
                                       cudaStream_t* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration& last = configurations.back();
  *blocks = last.blocks;
  *threads = last.threads;
  *shared_bytes = last.shared_bytes;
  *stream = last.stream;
  configurations.pop_back();
  return cudaSuccess;
}

// A kernel's handle is its host function's address.
cudaError_t __cudaGetKernel(const void** kernel, const void* host_function) {
  *kernel = host_function;
  return Functions().count(host_function) > 0 ? cudaSuccess
                                              : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads,
                             void** values, size_t shared_bytes,
                             cudaStream_t stream) {
  return Launch(function, blocks, threads, values, shared_bytes, stream,
                /*is_cooperative=*/false);
}

cudaError_t __cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads,
                               void** values, size_t shared_bytes,
                               cudaStream_t stream) {
  return Launch(kernel, blocks, threads, values, shared_bytes, stream,
                /*is_cooperative=*/false);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 blocks,
                                        dim3 threads, void** values,
                                        size_t shared_bytes,
                                        cudaStream_t stream) {
  return Launch(function, blocks, threads, values, shared_bytes, stream,
                /*is_cooperative=*/true);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                  const void* host_function) {
  const Kernel* const kernel = Find(host_function);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *attributes = cudaFuncAttributes();
  attributes->binaryVersion = kArchitecture;
  attributes->ptxVersion = kArchitecture;
  attributes->numRegs = 32;
  attributes->maxThreadsPerBlock = static_cast<int>(kernel->max_threads);
  attributes->maxDynamicSharedSizeBytes = kSharedBytes;
  attributes->sharedSizeBytes = kernel->shared_bytes;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* num_blocks, const void* host_function, int threads,
    size_t dynamic_bytes, unsigned) {
  const Kernel* const kernel = Find(host_function);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *num_blocks = BlocksPerProcessor(*kernel, threads, dynamic_bytes);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* num_blocks, const void* host_function, int threads,
    size_t dynamic_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      num_blocks, host_function, threads, dynamic_bytes, 0);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute == cudaDevAttrMultiProcessorCount) {
    *value = num_processors;
    return cudaSuccess;
  }
  const auto found = Attributes().find(attribute);
  if (found == Attributes().end()) return SetLastError(cudaErrorNotSupported);
  *value = found->second;
  return cudaSuccess;
}

}  // extern "C"

}  // namespace ptx
