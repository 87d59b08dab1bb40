#include "tests/tensor/cuda/layers/emulated_layer_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/layer_device/all_kernels.h"

namespace ps {
namespace {

constexpr int64_t kAlignment = 256;

// Calls body(i) for i in [0, n) in the given order.
template <typename Body>
void ForEach(EmulatedOrder order, int64_t n, const Body& body) {
  for (int64_t i = 0; i < n; ++i) {
    body(order == EmulatedOrder::kForward ? i : n - 1 - i);
  }
}

template <typename Core>
void Emulate(EmulatedOrder order, const void* erased, int64_t count) {
  const Core& core = *static_cast<const Core*>(erased);
  if constexpr (std::is_base_of_v<ElementCore, Core>) {
    ForEach(order, count, [&](int64_t i) { core(i); });
  } else {
    using Shared = typename Core::Shared;
    static_assert(std::is_trivially_default_constructible_v<Shared>,
                  "a block's memory is not constructed on the device");
    // What a kernel may ask for without further ado.
    static_assert(sizeof(Shared) <= 48 * 1024);
    ForEach(order, count, [&](int64_t block) {
      // Whatever was there before: all ones, a NaN.
      alignas(Shared) unsigned char memory[sizeof(Shared)];
      std::memset(memory, 0xff, sizeof(memory));
      auto* const shared = reinterpret_cast<Shared*>(memory);
      for (int phase = 0; phase < Core::kPhases; ++phase) {
        ForEach(order, kBlockThreads, [&](int64_t thread) {
          core(phase, block, static_cast<int>(thread), shared);
        });
      }
    });
  }
}

using Emulator = void (*)(EmulatedOrder order, const void* core, int64_t count);

template <typename... Cores>
Emulator FindEmulator(KernelList<Cores...>, int kernel) {
  static constexpr Emulator kEmulators[] = {Emulate<Cores>...};
  return kEmulators[kernel];
}

}  // namespace

class EmulatedLayerDevice::Regions {
 public:
  // protect: memory is on pages of its own, and out of reach but for an Access.
  explicit Regions(bool protect) : protect_(protect) {}

  bool Contain(const void* data, int64_t size) const {
    char* const begin = static_cast<char*>(const_cast<void*>(data));
    auto after = sizes_.upper_bound(begin);
    if (after == sizes_.begin()) return false;
    --after;
    return begin + size <= after->first + after->second;
  }

  void SetReachable(bool reachable) {
    if (!protect_) return;
    for (const auto& [data, size] : sizes_) Protect(data, size, reachable);
  }

  // Zeroed, and known until the last handle is gone.
  static std::shared_ptr<void> Allocate(const std::shared_ptr<Regions>& regions,
                                        int64_t size_bytes) {
    char* const data = regions->NewMemory(size_bytes);
    regions->sizes_[data] = size_bytes;
    return std::shared_ptr<void>(data, [regions, size_bytes](void* freed) {
      regions->sizes_.erase(static_cast<char*>(freed));
      regions->Free(freed, size_bytes);
    });
  }

 private:
  static size_t AtLeastOne(int64_t size) {
    return static_cast<size_t>(std::max<int64_t>(size, 1));
  }

  static void Protect(char* data, int64_t size, bool reachable) {
    PCHECK(mprotect(data, AtLeastOne(size),
                    reachable ? PROT_READ | PROT_WRITE : PROT_NONE) == 0);
  }

  char* NewMemory(int64_t size) const {
    void* data = nullptr;
    if (protect_) {
      data = mmap(nullptr, AtLeastOne(size), PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      PCHECK(data != MAP_FAILED);
    } else {
      // Exactly as much as was asked for, so that address sanitizers see more.
      CHECK_EQ(posix_memalign(&data, kAlignment, AtLeastOne(size)), 0);
      std::memset(data, 0, static_cast<size_t>(size));
    }
    return static_cast<char*>(data);
  }

  void Free(void* data, int64_t size) const {
    if (protect_) {
      PCHECK(munmap(data, AtLeastOne(size)) == 0);
    } else {
      std::free(data);
    }
  }

  const bool protect_;
  std::map<char*, int64_t> sizes_;
};

class EmulatedLayerDevice::Access {
 public:
  explicit Access(Regions* regions) : regions_(regions) {
    regions_->SetReachable(true);
  }
  ~Access() { regions_->SetReachable(false); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  Regions* const regions_;  // Not owned.
};

EmulatedLayerDevice::EmulatedLayerDevice(
    const EmulatedLayerDeviceOptions& options)
    : options_(options),
      device_regions_(std::make_shared<Regions>(options.protect_memory)),
      host_regions_(std::make_shared<Regions>(/*protect=*/false)) {}

EmulatedLayerDevice::~EmulatedLayerDevice() = default;

absl::Status EmulatedLayerDevice::Count(const char* call) {
  if (num_calls_++ != options_.failing_call) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": made to fail"));
}

absl::Status EmulatedLayerDevice::CheckDevice(const void* data,
                                              int64_t size_bytes,
                                              const char* what) const {
  if (device_regions_->Contain(data, size_bytes)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, " of ", size_bytes, " bytes is not on the device"));
}

absl::StatusOr<std::shared_ptr<void>> EmulatedLayerDevice::Allocate(
    int64_t size_bytes) {
  ++num_allocations_;
  return Regions::Allocate(device_regions_, size_bytes);
}

absl::StatusOr<std::shared_ptr<void>> EmulatedLayerDevice::AllocateHost(
    int64_t size_bytes) {
  ++num_allocations_;
  return Regions::Allocate(host_regions_, size_bytes);
}

absl::Status EmulatedLayerDevice::CopyFromHost(const void* host,
                                               int64_t size_bytes,
                                               void* device) {
  PS_RETURN_IF_ERROR(Count("CopyFromHost"));
  PS_RETURN_IF_ERROR(CheckDevice(device, size_bytes, "target of a copy"));
  if (!host_regions_->Contain(host, size_bytes)) {
    return absl::InternalError("copy from memory not from AllocateHost");
  }
  const Access access(device_regions_.get());
  std::memcpy(device, host, static_cast<size_t>(size_bytes));
  return absl::OkStatus();
}

absl::Status EmulatedLayerDevice::CopyToHost(const void* device,
                                             int64_t size_bytes, void* host) {
  PS_RETURN_IF_ERROR(Count("CopyToHost"));
  PS_RETURN_IF_ERROR(CheckDevice(device, size_bytes, "source of a copy"));
  const Access access(device_regions_.get());
  std::memcpy(host, device, static_cast<size_t>(size_bytes));
  return absl::OkStatus();
}

absl::Status EmulatedLayerDevice::Copy(const void* from, int64_t size_bytes,
                                       void* to) {
  PS_RETURN_IF_ERROR(Count("Copy"));
  PS_RETURN_IF_ERROR(CheckDevice(from, size_bytes, "source of a copy"));
  PS_RETURN_IF_ERROR(CheckDevice(to, size_bytes, "target of a copy"));
  const Access access(device_regions_.get());
  std::memmove(to, from, static_cast<size_t>(size_bytes));
  return absl::OkStatus();
}

absl::Status EmulatedLayerDevice::Zero(int64_t size_bytes, void* data) {
  PS_RETURN_IF_ERROR(Count("Zero"));
  PS_RETURN_IF_ERROR(CheckDevice(data, size_bytes, "array of zeros"));
  const Access access(device_regions_.get());
  std::memset(data, 0, static_cast<size_t>(size_bytes));
  return absl::OkStatus();
}

absl::Status EmulatedLayerDevice::Multiply(const MatrixProduct& p) {
  PS_RETURN_IF_ERROR(Count("Multiply"));
  constexpr int64_t kFloat = static_cast<int64_t>(sizeof(float));
  PS_RETURN_IF_ERROR(CheckDevice(p.a, p.m * p.k * kFloat, "first factor"));
  PS_RETURN_IF_ERROR(CheckDevice(p.b, p.k * p.n * kFloat, "second factor"));
  PS_RETURN_IF_ERROR(CheckDevice(p.c, p.m * p.n * kFloat, "product"));
  const Access access(device_regions_.get());
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = p.accumulate ? p.c[i * p.n + j] : 0;
      for (int64_t k = 0; k < p.k; ++k) {
        const float a = p.transpose_a ? p.a[k * p.m + i] : p.a[i * p.k + k];
        const float b = p.transpose_b ? p.b[j * p.k + k] : p.b[k * p.n + j];
        sum += double{a} * double{b};
      }
      p.c[i * p.n + j] = static_cast<float>(sum);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> EmulatedLayerDevice::SortScratchBytes(int64_t n) {
  return n * static_cast<int64_t>(sizeof(uint64_t));
}

absl::Status EmulatedLayerDevice::Sort(const uint64_t* keys, int64_t n,
                                       uint64_t* sorted) {
  PS_RETURN_IF_ERROR(Count("Sort"));
  PS_ASSIGN_OR_RETURN(const int64_t size_bytes, SortScratchBytes(n));
  PS_RETURN_IF_ERROR(CheckDevice(keys, size_bytes, "array of keys"));
  PS_RETURN_IF_ERROR(CheckDevice(sorted, size_bytes, "array of sorted keys"));
  // As a device does, spoils the scratch.
  PS_RETURN_IF_ERROR(CheckDevice(scratch(), size_bytes, "scratch"));
  const Access access(device_regions_.get());
  std::memset(scratch(), 0xff, static_cast<size_t>(size_bytes));
  std::copy_n(keys, n, sorted);
  std::sort(sorted, sorted + n);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LibraryConvolution>>
EmulatedLayerDevice::PlanConvolution(const ConvolutionGeometry&) {
  return std::unique_ptr<LibraryConvolution>();
}

absl::Status EmulatedLayerDevice::Launch(const KernelCall& call) {
  PS_RETURN_IF_ERROR(Count(call.name));
  launches_.push_back(call.name);
  const Access access(device_regions_.get());
  FindEmulator(AllKernels(), call.kernel)(options_.order, call.core,
                                          call.count);
  return absl::OkStatus();
}

}  // namespace ps
