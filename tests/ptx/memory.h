// Which memory of the host is a device's global memory.
#ifndef TESTS_PTX_MEMORY_H_
#define TESTS_PTX_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/ptx/races.h"

namespace ptx {

// Adds an allocation, pinned memory or a module's variable; and removes it.
void AddRegion(const void* begin, size_t size_bytes);
void RemoveRegion(const void* begin);

// The shadow of the page that holds [address, address + size); null if these
// bytes are not all in one region.
ShadowPage* FindShadow(uint64_t address, int size);

// The region that is nearest to an address, for messages.
std::string DescribeAddress(uint64_t address);

}  // namespace ptx

#endif  // TESTS_PTX_MEMORY_H_
