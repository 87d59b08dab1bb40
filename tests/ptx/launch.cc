// CUDA's runtime on the CPU: what nvcc's objects register, and the launches of
// kernels and what can be asked about them.

#include "tests/ptx/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/ptx/device.h"
#include "tests/ptx/grid.h"
#include "tests/ptx/settings.h"

namespace ptx {
namespace {

// The device is an H100 or H200, but for its multiprocessors.
constexpr int kArchitecture = 90;
constexpr int kMaxThreads = 1024;
constexpr size_t kSharedBytes = 48 << 10;  // Without asking for more.
constexpr size_t kMaxSharedBytes = 227 << 10;
constexpr size_t kProcessorSharedBytes = 228 << 10;

Order order = Order::kForward;
uint32_t shuffle_seed = 0;
bool races_are_checked = true;
int num_processors = 3;
int blocks_each = 1;

bool faults_are_caught = false;
std::string fault;

// What a host function's address stands for.
struct Function {
  std::string name;
  size_t max_dynamic_shared_bytes = 0;  // 0: not set.
};

std::map<const void*, Function>& Functions() {
  static auto* const functions = new std::map<const void*, Function>();
  return *functions;
}

Function* FindFunction(const void* function) {
  const auto found = Functions().find(function);
  return found == Functions().end() ? nullptr : &found->second;
}

cudaError_t FailUnknown(const std::string& name) {
  ReportFault("no translation of the kernel " + Demangled(name.c_str()) +
              " is linked: add the _ptx library of its cuda_library");
  return SetLastError(cudaErrorInvalidDeviceFunction);
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

cudaError_t CheckAndQueue(const void* host_function, const dim3& blocks,
                          const dim3& threads, void** values,
                          size_t dynamic_bytes, cudaStream_t stream,
                          bool is_cooperative) {
  const std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  const Function* const function = FindFunction(host_function);
  if (function == nullptr) return SetLastError(cudaErrorInvalidDeviceFunction);
  const Kernel* const kernel = FindKernel(function->name);
  if (kernel == nullptr) return FailUnknown(function->name);
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
  const size_t max_dynamic = function->max_dynamic_shared_bytes;
  if (kernel->shared_bytes + dynamic_bytes >
          (max_dynamic > 0 ? kMaxSharedBytes : kSharedBytes) ||
      (max_dynamic > 0 && dynamic_bytes > max_dynamic)) {
    return SetLastError(cudaErrorInvalidValue);
  }
  // A limit of races.h's.
  if (num_blocks * num_threads >= uint64_t{1} << 30) {
    ReportFault(Demangled(function->name.c_str()) +
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
  grid.num_blocks[0] = blocks.x;
  grid.num_blocks[1] = blocks.y;
  grid.num_blocks[2] = blocks.z;
  grid.num_threads[0] = threads.x;
  grid.num_threads[1] = threads.y;
  grid.num_threads[2] = threads.z;
  grid.dynamic_shared_bytes = static_cast<uint32_t>(dynamic_bytes);
  size_t offset = 0;
  for (int i = 0; i < kernel->num_parameters; ++i) {
    const size_t size = kernel->parameter_bytes[i];
    grid.parameters.resize(offset + (size + 15) / 16 * 16);
    std::memcpy(grid.parameters.data() + offset, values[i], size);
    offset = grid.parameters.size();
  }
  return SetLastError(
      QueueOnStream(stream, [grid = std::move(grid)] { RunGrid(grid); }));
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
  const std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
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
  if (!faults_are_caught) {
    std::fprintf(stderr, "ptx: %s\n", message.c_str());
    std::abort();
  }
  if (fault.empty()) fault = message;
}

cudaError_t FaultOr(cudaError_t error) {
  return fault.empty() ? error : SetLastError(cudaErrorLaunchFailure);
}

}  // namespace ptx

extern "C" {

void** __cudaRegisterFatBinary(void* binary) { return new void*(binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int,
                       int) {}

void __cudaRegisterFunction(void**, const char* host_function, char*,
                            const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  ptx::Functions()[host_function].name = name;
}

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads,
                                     size_t shared_bytes,
                                     struct CUstream_st* stream) {
  ptx::configurations.push_back({blocks, threads, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads,
                                       size_t* shared_bytes, void* stream) {
  if (ptx::configurations.empty()) return cudaErrorMissingConfiguration;
  const ptx::Configuration& last = ptx::configurations.back();
  *blocks = last.blocks;
  *threads = last.threads;
  *shared_bytes = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  ptx::configurations.pop_back();
  return cudaSuccess;
}

// A kernel's handle is its host function's address.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return ptx::FindFunction(host_function) == nullptr
             ? cudaErrorInvalidDeviceFunction
             : cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads,
                             void** values, size_t shared_bytes,
                             cudaStream_t stream) {
  return ptx::CheckAndQueue(function, blocks, threads, values, shared_bytes,
                            stream, /*is_cooperative=*/false);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads,
                               void** values, size_t shared_bytes,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, blocks, threads, values, shared_bytes,
                          stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 blocks,
                                        dim3 threads, void** values,
                                        size_t shared_bytes,
                                        cudaStream_t stream) {
  return ptx::CheckAndQueue(function, blocks, threads, values, shared_bytes,
                            stream, /*is_cooperative=*/true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                const void* function, void** values) {
  bool is_cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) {
      is_cooperative = attribute.val.cooperative != 0;
    } else if (attribute.id == cudaLaunchAttributeClusterDimension) {
      return ptx::SetLastError(cudaErrorNotSupported);
    }
  }
  return ptx::CheckAndQueue(function, config->gridDim, config->blockDim, values,
                            config->dynamicSmemBytes, config->stream,
                            is_cooperative);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                  const void* host_function) {
  const ptx::Function* const function = ptx::FindFunction(host_function);
  if (function == nullptr) {
    return ptx::SetLastError(cudaErrorInvalidDeviceFunction);
  }
  *attributes = cudaFuncAttributes();
  attributes->binaryVersion = ptx::kArchitecture;
  attributes->ptxVersion = ptx::kArchitecture;
  attributes->numRegs = 32;
  attributes->maxThreadsPerBlock = ptx::kMaxThreads;
  attributes->maxDynamicSharedSizeBytes =
      static_cast<int>(function->max_dynamic_shared_bytes > 0
                           ? function->max_dynamic_shared_bytes
                           : ptx::kSharedBytes);
  if (const ptx::Kernel* const kernel = ptx::FindKernel(function->name)) {
    attributes->maxThreadsPerBlock = static_cast<int>(kernel->max_threads);
    attributes->sharedSizeBytes = kernel->shared_bytes;
  }
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* host_function,
                                 cudaFuncAttribute attribute, int value) {
  ptx::Function* const function = ptx::FindFunction(host_function);
  if (function == nullptr) {
    return ptx::SetLastError(cudaErrorInvalidDeviceFunction);
  }
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || static_cast<size_t>(value) > ptx::kMaxSharedBytes) {
      return ptx::SetLastError(cudaErrorInvalidValue);
    }
    function->max_dynamic_shared_bytes = value;
  }
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* num_blocks, const void* host_function, int threads,
    size_t dynamic_bytes, unsigned) {
  const ptx::Function* const function = ptx::FindFunction(host_function);
  if (function == nullptr) {
    return ptx::SetLastError(cudaErrorInvalidDeviceFunction);
  }
  const ptx::Kernel* const kernel = ptx::FindKernel(function->name);
  if (kernel == nullptr) return ptx::FailUnknown(function->name);
  *num_blocks = ptx::BlocksPerProcessor(*kernel, threads, dynamic_bytes);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* num_blocks, const void* host_function, int threads,
    size_t dynamic_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      num_blocks, host_function, threads, dynamic_bytes, 0);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = ptx::num_processors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = ptx::kArchitecture / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = ptx::kArchitecture % 10;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = ptx::kMaxThreads;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 65535;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = ptx::kSharedBytes;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = ptx::kMaxSharedBytes;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = ptx::kProcessorSharedBytes;
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = 65536;
      break;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrUnifiedAddressing:
      *value = 1;
      break;
    default:
      return ptx::SetLastError(cudaErrorNotSupported);
  }
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = cudaDeviceProp();
  std::strcpy(properties->name, "CPU");
  properties->major = ptx::kArchitecture / 10;
  properties->minor = ptx::kArchitecture % 10;
  properties->multiProcessorCount = ptx::num_processors;
  properties->totalGlobalMem = size_t{1} << 30;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = ptx::kMaxThreads;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->sharedMemPerBlock = ptx::kSharedBytes;
  properties->sharedMemPerBlockOptin = ptx::kMaxSharedBytes;
  properties->sharedMemPerMultiprocessor = ptx::kProcessorSharedBytes;
  properties->regsPerBlock = 65536;
  properties->cooperativeLaunch = 1;
  return cudaSuccess;
}

}  // extern "C"
