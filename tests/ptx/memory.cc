// CUDA's runtime on the CPU: the device's memory, pinned memory, and what
// kernels may access of the host's memory.

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/ptx/device.h"
#include "tests/ptx/races.h"
#include "tests/ptx/runtime.h"
#include "tests/ptx/thread.h"

namespace ptx {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kAlignmentBytes = 256;  // CUDA's, of all memory.

size_t RoundUp(size_t size, size_t unit) {
  return (size + unit - 1) / unit * unit;
}

enum class Kind { kDevice, kPinned, kVariable };

// Memory that kernels may access.
struct Region {
  Kind kind;
  char* begin;
  size_t size;  // As requested.

  bool Has(uint64_t address, size_t size_bytes) const {
    return address >= Address(begin) &&
           address + size_bytes <= Address(begin) + size;
  }
  // An allocation on the device ends at the end of its pages, or less than
  // kAlignmentBytes before, and a page that nobody may access follows.
  size_t pages_bytes() const { return RoundUp(size, kPageBytes); }
  char* pages_end() const { return begin + RoundUp(size, kAlignmentBytes); }
  char* pages() const { return pages_end() - pages_bytes(); }
};

std::map<uint64_t, Region>& Regions() {
  static auto* const regions = new std::map<uint64_t, Region>();
  return *regions;
}

// The last region that begins at or before an address.
const Region* Before(uint64_t address) {
  const auto after = Regions().upper_bound(address);
  return after == Regions().begin() ? nullptr : &std::prev(after)->second;
}

std::unordered_map<uint64_t, std::unique_ptr<ShadowPage>>& Pages() {
  static auto* const pages =
      new std::unordered_map<uint64_t, std::unique_ptr<ShadowPage>>();
  return *pages;
}

// The most recent of the pages with the same last bits.
struct Recent {
  uint64_t page = ~uint64_t{0};
  const Region* region = nullptr;
  ShadowPage* shadow = nullptr;
};
constexpr size_t kMaxPages = 1 << 14;
constexpr int kRecent = 1024;
Recent recent[kRecent];

bool is_protected = false;
int access_depth = 0;
int64_t num_allocations = 0;

// Makes uninitialised memory look like NaNs; only the beginning of large
// memory.
constexpr char kPoison = '\xff';

void Add(const Region& region) {
  if (region.kind != Kind::kVariable) {
    ++num_allocations;
    std::memset(region.begin, kPoison, std::min(region.size, size_t{1} << 23));
  }
  Regions()[Address(region.begin)] = region;
}

void Remove(const void* begin) {
  // Each launch renews the shadow of a page; all that matters is their number.
  if (Pages().size() > kMaxPages) Pages().clear();
  Regions().erase(Address(begin));
  std::fill_n(recent, kRecent, Recent());
}

void Protect(void* pages, size_t size, int protection) {
  Require(mprotect(pages, size, protection) == 0, "mprotect failed");
}

void ProtectDevice(int protection) {
  if (!is_protected) return;
  for (const auto& [address, region] : Regions()) {
    if (region.kind != Kind::kDevice) continue;
    Protect(region.pages(), region.pages_bytes(), protection);
  }
}

}  // namespace

VariableRegistrar::VariableRegistrar(void* data, size_t size_bytes) {
  Add({Kind::kVariable, static_cast<char*>(data), size_bytes});
}

ShadowPage* FindShadow(uint64_t address, int size) {
  const uint64_t page = address / kShadowPageBytes;
  Recent& entry = recent[page % kRecent];
  if (entry.page == page && entry.region->Has(address, size)) {
    return entry.shadow;
  }
  // Several regions may share the page.
  const Region* const region = Before(address);
  if (region == nullptr || !region->Has(address, size)) return nullptr;
  std::unique_ptr<ShadowPage>& shadow = Pages()[page];
  if (shadow == nullptr) shadow = std::make_unique<ShadowPage>();
  entry = {page, region, shadow.get()};
  return entry.shadow;
}

std::string DescribeAddress(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof(text), "at 0x%llx, ",
                static_cast<unsigned long long>(address));
  const Region* const region = Before(address);
  if (region == nullptr) return std::string(text) + "before all allocations";
  return text + ("byte " + std::to_string(address - Address(region->begin))) +
         " of an allocation of " + std::to_string(region->size) + " bytes";
}

void BeginDeviceAccess() {
  if (access_depth++ == 0) ProtectDevice(PROT_READ | PROT_WRITE);
}
void EndDeviceAccess() {
  if (--access_depth == 0) ProtectDevice(PROT_NONE);
}

bool ProtectDeviceMemory() { return is_protected = true; }

bool IsPinnedMemory(const void* data, size_t size_bytes) {
  const CallLock lock;
  const Region* const region = Before(Address(data));
  return region != nullptr && region->kind == Kind::kPinned &&
         region->Has(Address(data), size_bytes);
}

int64_t NumAllocations() { return num_allocations; }

extern "C" {

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return CallFor([&] { *total = size_t{1} << 30, *free = *total / 2; });
}

cudaError_t cudaMalloc(void** memory, size_t size) {
  const CallLock lock;
  const cudaError_t error = CallOutsideCapture();
  if (error != cudaSuccess) return error;
  Region region = {Kind::kDevice, nullptr, size};
  const size_t pages_bytes = region.pages_bytes();
  void* const pages =
      mmap(nullptr, pages_bytes + kPageBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
  region.begin =
      static_cast<char*>(pages) + pages_bytes - RoundUp(size, kAlignmentBytes);
  // Each launch changes the protection of all pages; let there be few.
  madvise(pages, pages_bytes, MADV_HUGEPAGE);
  Add(region);
  char* const end = region.begin + size;
  std::memset(end, kPoison, region.pages_end() - end);
  Protect(region.pages_end(), kPageBytes, PROT_NONE);
  if (is_protected) Protect(pages, pages_bytes, PROT_NONE);
  *memory = region.begin;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const CallLock lock;
  const cudaError_t error = RefuseInCapture();
  if (error != cudaSuccess || memory == nullptr) return error;
  const auto found = Regions().find(Address(memory));
  Require(found != Regions().end() && found->second.kind == Kind::kDevice,
          "cudaFree of memory that is not allocated");
  const Region region = found->second;
  // Work that is queued may still use it.
  RunAll();
  Protect(region.pages(), region.pages_bytes(), PROT_READ);
  const char* const end = region.begin + region.size;
  const char* const written =
      std::find_if(end, static_cast<const char*>(region.pages_end()),
                   [](char byte) { return byte != kPoison; });
  Require(written == region.pages_end(),
          "written " + std::to_string(written - end) +
              " bytes beyond the end of " + std::to_string(region.size) +
              " bytes");
  Require(munmap(region.pages(), region.pages_bytes() + kPageBytes) == 0,
          "munmap failed");
  Remove(memory);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t size, unsigned) {
  const CallLock lock;
  const cudaError_t error = CallOutsideCapture();
  if (error != cudaSuccess) return error;
  *memory = std::aligned_alloc(kAlignmentBytes, RoundUp(size, kAlignmentBytes));
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  Add({Kind::kPinned, static_cast<char*>(*memory), size});
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, size_t size) {
  return cudaHostAlloc(memory, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* memory) {
  const CallLock lock;
  const cudaError_t error = RefuseInCapture();
  if (error != cudaSuccess || memory == nullptr) return error;
  Remove(memory);
  std::free(memory);
  return cudaSuccess;
}

}  // extern "C"

}  // namespace ptx
