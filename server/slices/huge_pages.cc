#include "server/slices/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace ps {
namespace {

constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
// Since Linux 6.1; older systems refuse it. glibc 2.36 does not name it.
constexpr int kCollapse = 25;  // MADV_COLLAPSE

}  // namespace

void UseHugePages(void* begin, size_t size_bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (address + size_bytes) / kHugePage * kHugePage;
  if (first >= end) return;
  // The result does not matter: small pages serve as well, only more slowly.
  madvise(reinterpret_cast<void*>(first), end - first, kCollapse);
}

}  // namespace ps
