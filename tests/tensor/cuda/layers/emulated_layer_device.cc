#include "tests/tensor/cuda/layers/emulated_layer_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr int64_t kAlignment = 256;

// bias: null, or [n].
template <typename Factor, typename Result>
void MultiplyOnHost(const MatrixProduct& p, const Result* bias) {
  const auto* const a = static_cast<const Factor*>(p.a);
  const auto* const b = static_cast<const Factor*>(p.b);
  auto* const c = static_cast<Result*>(p.c);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      Result& target = c[i * p.c_row() + j];
      double sum = p.accumulate ? static_cast<double>(target) : 0.0;
      for (int64_t k = 0; k < p.k; ++k) {
        const float left =
            p.transpose_a ? a[k * p.a_row() + i] : a[i * p.a_row() + k];
        const float right =
            p.transpose_b ? b[j * p.b_row() + k] : b[k * p.b_row() + j];
        sum += double{left} * double{right};
      }
      if (bias != nullptr) sum += static_cast<double>(bias[j]);
      target = static_cast<float>(sum);
    }
  }
}

// Sums the rows of the first factor, after any transposition.
template <typename Factor, typename Result>
void SumAOnHost(const MatrixProduct& p, Result* sums) {
  const auto* const a = static_cast<const Factor*>(p.a);
  for (int64_t i = 0; i < p.m; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < p.k; ++k) {
      sum += static_cast<double>(p.transpose_a ? a[k * p.a_row() + i]
                                               : a[i * p.a_row() + k]);
    }
    sums[i] = static_cast<float>(sum);
  }
}

}  // namespace

class EmulatedLayerDevice::Regions {
 public:
  // protect: memory has its own pages, which are inaccessible except during an
  // Access.
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

  // Zeroed, and registered until the last handle is gone.
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
      // Exactly the requested size, so that the address sanitizer detects
      // overruns.
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
    : LayerDevice(options.precision),
      options_(options),
      device_regions_(std::make_shared<Regions>(options.protect_memory)),
      host_regions_(std::make_shared<Regions>(/*protect=*/false)) {}

EmulatedLayerDevice::~EmulatedLayerDevice() = default;

absl::Status EmulatedLayerDevice::Count(const char* call) {
  if (num_calls_++ != options_.failing_call) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": made to fail"));
}

class EmulatedLayerDevice::Tape final : public Recording {
 public:
  Tape(std::vector<Work> work, int64_t* num_replayed)
      : work_(std::move(work)), num_replayed_(num_replayed) {}

  absl::Status Replay() override {
    for (const Work& work : work_) {
      PS_RETURN_IF_ERROR(work());
      ++*num_replayed_;
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<Work> work_;
  int64_t* const num_replayed_;  // In the device, which outlives this.
};

absl::StatusOr<std::unique_ptr<Recording>> EmulatedLayerDevice::Record(
    const std::function<absl::Status()>& work) {
  PS_RETURN_IF_ERROR(RefuseWhileRecording("Record"));
  std::vector<Work> recorded;
  recorded_ = &recorded;
  const absl::Status status = work();
  recorded_ = nullptr;
  PS_RETURN_IF_ERROR(status);
  num_recorded_ += static_cast<int64_t>(recorded.size());
  return std::make_unique<Tape>(std::move(recorded), &num_replayed_);
}

absl::Status EmulatedLayerDevice::Do(Work work) {
  if (recorded_ == nullptr) return work();
  recorded_->push_back(std::move(work));
  return absl::OkStatus();
}

absl::Status EmulatedLayerDevice::RefuseWhileRecording(const char* call) const {
  if (recorded_ == nullptr) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(call, ": cannot be recorded on a device"));
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
  PS_RETURN_IF_ERROR(RefuseWhileRecording("Allocate"));
  ++num_allocations_;
  return Regions::Allocate(device_regions_, size_bytes);
}

absl::StatusOr<std::shared_ptr<void>> EmulatedLayerDevice::AllocateHost(
    int64_t size_bytes) {
  PS_RETURN_IF_ERROR(RefuseWhileRecording("AllocateHost"));
  ++num_allocations_;
  return Regions::Allocate(host_regions_, size_bytes);
}

absl::Status EmulatedLayerDevice::CopyFromHost(const void* host,
                                               int64_t size_bytes,
                                               void* device) {
  PS_RETURN_IF_ERROR(Count("CopyFromHost"));
  return Do([=]() -> absl::Status {
    PS_RETURN_IF_ERROR(CheckDevice(device, size_bytes, "target of a copy"));
    if (!host_regions_->Contain(host, size_bytes)) {
      return absl::InternalError("copy from memory not from AllocateHost");
    }
    const Access access(device_regions_.get());
    std::memcpy(device, host, static_cast<size_t>(size_bytes));
    return absl::OkStatus();
  });
}

absl::Status EmulatedLayerDevice::CopyToHost(const void* device,
                                             int64_t size_bytes, void* host) {
  PS_RETURN_IF_ERROR(RefuseWhileRecording("CopyToHost"));
  PS_RETURN_IF_ERROR(Count("CopyToHost"));
  PS_RETURN_IF_ERROR(CheckDevice(device, size_bytes, "source of a copy"));
  const Access access(device_regions_.get());
  std::memcpy(host, device, static_cast<size_t>(size_bytes));
  return absl::OkStatus();
}

absl::Status EmulatedLayerDevice::Copy(const void* from, int64_t size_bytes,
                                       void* to) {
  PS_RETURN_IF_ERROR(Count("Copy"));
  return Do([=]() -> absl::Status {
    PS_RETURN_IF_ERROR(CheckDevice(from, size_bytes, "source of a copy"));
    PS_RETURN_IF_ERROR(CheckDevice(to, size_bytes, "target of a copy"));
    const Access access(device_regions_.get());
    std::memmove(to, from, static_cast<size_t>(size_bytes));
    return absl::OkStatus();
  });
}

absl::Status EmulatedLayerDevice::Zero(int64_t size_bytes, void* data) {
  PS_RETURN_IF_ERROR(Count("Zero"));
  return Do([=]() -> absl::Status {
    PS_RETURN_IF_ERROR(CheckDevice(data, size_bytes, "array of zeros"));
    const Access access(device_regions_.get());
    std::memset(data, 0, static_cast<size_t>(size_bytes));
    return absl::OkStatus();
  });
}

absl::Status EmulatedLayerDevice::CheckOperands(const MatrixProduct& p) const {
  const auto size_bytes = [](int64_t rows, int64_t columns, int64_t stride,
                             Storage storage) {
    return ((rows - 1) * stride + columns) * StorageBytes(storage);
  };
  PS_RETURN_IF_ERROR(
      CheckDevice(p.a,
                  size_bytes(p.transpose_a ? p.k : p.m,
                             p.transpose_a ? p.m : p.k, p.a_row(), p.factors),
                  "first factor"));
  PS_RETURN_IF_ERROR(
      CheckDevice(p.b,
                  size_bytes(p.transpose_b ? p.n : p.k,
                             p.transpose_b ? p.k : p.n, p.b_row(), p.factors),
                  "second factor"));
  return CheckDevice(p.c, size_bytes(p.m, p.n, p.c_row(), p.result), "product");
}

absl::Status EmulatedLayerDevice::Multiply(const MatrixProduct& p) {
  PS_RETURN_IF_ERROR(Count("Multiply"));
  if (p.factors == Storage::kFloat && p.result != Storage::kFloat) {
    return absl::InternalError("a product of floats with a bfloat16 result");
  }
  return Do([=]() -> absl::Status {
    PS_RETURN_IF_ERROR(CheckOperands(p));
    const Access access(device_regions_.get());
    WithElementOf(p.factors, [&](auto factor) {
      WithElementOf(p.result, [&](auto result) {
        MultiplyOnHost<decltype(factor), decltype(result)>(p, nullptr);
      });
    });
    return absl::OkStatus();
  });
}

class EmulatedLayerDevice::Fused final : public FusedProduct {
 public:
  // The part of the scratch that it overwrites.
  static constexpr int64_t kWorkspaceBytes = 1000;

  Fused(EmulatedLayerDevice* device, const MatrixProduct& product,
        Epilogue epilogue)
      : device_(device), product_(product), epilogue_(epilogue) {}

  bool Takes(const FusedOperands&) const override { return true; }

  absl::Status Multiply(const FusedOperands& operands) override {
    PS_RETURN_IF_ERROR(device_->Count("FusedProduct"));
    MatrixProduct p = product_;
    p.a = operands.a, p.b = operands.b, p.c = operands.c;
    return device_->Do([device = device_, p, operands,
                        epilogue = epilogue_]() -> absl::Status {
      PS_RETURN_IF_ERROR(device->CheckOperands(p));
      const bool adds = epilogue == Epilogue::kAddBias;
      PS_RETURN_IF_ERROR(device->CheckDevice(
          adds ? operands.bias : operands.sums,
          (adds ? p.n : p.m) * StorageBytes(p.result), adds ? "bias" : "sums"));
      PS_RETURN_IF_ERROR(
          device->CheckDevice(device->scratch(), kWorkspaceBytes, "scratch"));
      const Access access(device->device_regions_.get());
      std::memset(device->scratch(), 0xff, kWorkspaceBytes);
      WithElementOf(p.factors, [&](auto factor) {
        WithElementOf(p.result, [&](auto result) {
          using Factor = decltype(factor);
          using Result = decltype(result);
          MultiplyOnHost<Factor, Result>(
              p, static_cast<const Result*>(adds ? operands.bias : nullptr));
          if (!adds) {
            SumAOnHost<Factor>(p, static_cast<Result*>(operands.sums));
          }
        });
      });
      return absl::OkStatus();
    });
  }

 private:
  EmulatedLayerDevice* const device_;  // Not owned.
  const MatrixProduct product_;
  const Epilogue epilogue_;
};

absl::StatusOr<std::unique_ptr<FusedProduct>>
EmulatedLayerDevice::PlanFusedProduct(const MatrixProduct& product,
                                      Epilogue epilogue) {
  if (!options_.fused_products) return std::unique_ptr<FusedProduct>();
  if (product.accumulate) {
    return absl::InternalError("a product with an epilogue that accumulates");
  }
  PS_RETURN_IF_ERROR(ReserveScratch(Fused::kWorkspaceBytes));
  return std::make_unique<Fused>(this, product, epilogue);
}

absl::StatusOr<int64_t> EmulatedLayerDevice::SortScratchBytes(int64_t n) {
  return n * static_cast<int64_t>(sizeof(uint64_t));
}

absl::Status EmulatedLayerDevice::Sort(const uint64_t* keys, int64_t n,
                                       uint64_t* sorted) {
  PS_RETURN_IF_ERROR(Count("Sort"));
  return Do([=]() -> absl::Status {
    PS_ASSIGN_OR_RETURN(const int64_t size_bytes, SortScratchBytes(n));
    PS_RETURN_IF_ERROR(CheckDevice(keys, size_bytes, "array of keys"));
    PS_RETURN_IF_ERROR(CheckDevice(sorted, size_bytes, "array of sorted keys"));
    // Overwrites the scratch, as a device does.
    PS_RETURN_IF_ERROR(CheckDevice(scratch(), size_bytes, "scratch"));
    const Access access(device_regions_.get());
    std::memset(scratch(), 0xff, static_cast<size_t>(size_bytes));
    std::copy_n(keys, n, sorted);
    std::sort(sorted, sorted + n);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<LibraryConvolution>>
EmulatedLayerDevice::PlanConvolution(const ConvolutionGeometry&) {
  return std::unique_ptr<LibraryConvolution>();
}

absl::Status EmulatedLayerDevice::Launch(const KernelCall& call) {
  PS_RETURN_IF_ERROR(Count(call.name));
  launches_.push_back(call.name);
  return Do([this, run = EmulatedKernel(call.kernel, call.core, call.count)] {
    const Access access(device_regions_.get());
    run(options_.order);
    return absl::OkStatus();
  });
}

}  // namespace ps
