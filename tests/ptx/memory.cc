#include "tests/ptx/memory.h"

#include <cstdio>
#include <map>
#include <memory>
#include <unordered_map>

#include "tests/ptx/thread.h"

namespace ptx {
namespace {

struct Region {
  uint64_t begin;
  uint64_t end;
};

std::map<uint64_t, Region>& Regions() {
  static auto* const regions = new std::map<uint64_t, Region>();
  return *regions;
}

// The last region that begins at or before an address.
const Region* Before(uint64_t address) {
  auto after = Regions().upper_bound(address);
  return after == Regions().begin() ? nullptr : &(--after)->second;
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

void Forget() {
  for (Recent& entry : recent) entry = Recent();
}

}  // namespace

void AddRegion(const void* begin, size_t size_bytes) {
  const uint64_t address = Address(begin);
  Regions()[address] = {address, address + size_bytes};
}

void RemoveRegion(const void* begin) {
  const auto found = Regions().find(Address(begin));
  if (found == Regions().end()) return;
  // Each launch renews the shadow of a page; all that matters is their number.
  if (Pages().size() > kMaxPages) Pages().clear();
  Regions().erase(found);
  Forget();
}

ShadowPage* FindShadow(uint64_t address, int size) {
  const uint64_t page = address / kShadowPageBytes;
  Recent& entry = recent[page % kRecent];
  if (entry.page != page) {
    const Region* const region = Before(address);
    if (region == nullptr || address + size > region->end) return nullptr;
    std::unique_ptr<ShadowPage>& shadow = Pages()[page];
    if (shadow == nullptr) shadow = std::make_unique<ShadowPage>();
    entry = {page, region, shadow.get()};
  }
  if (address >= entry.region->begin && address + size <= entry.region->end) {
    return entry.shadow;
  }
  // Several regions share the page.
  const Region* const region = Before(address);
  if (region == nullptr || address + size > region->end) return nullptr;
  return entry.shadow;
}

std::string DescribeAddress(uint64_t address) {
  char text[160];
  const Region* const region = Before(address);
  if (region == nullptr) {
    std::snprintf(text, sizeof(text), "at 0x%llx, before all allocations",
                  static_cast<unsigned long long>(address));
  } else {
    std::snprintf(text, sizeof(text),
                  "at 0x%llx, byte %lld of an allocation of %lld bytes",
                  static_cast<unsigned long long>(address),
                  static_cast<long long>(address - region->begin),
                  static_cast<long long>(region->end - region->begin));
  }
  return text;
}

VariableRegistrar::VariableRegistrar(void* data, size_t size_bytes) {
  AddRegion(data, size_bytes);
}

}  // namespace ptx
