// Asks the system for huge pages, for memory that is read and written at random
// places, each of which would otherwise need a page table entry of its own.
#ifndef SERVER_SLICES_HUGE_PAGES_H_
#define SERVER_SLICES_HUGE_PAGES_H_

#include <cstddef>

namespace ps {

// Replaces the pages of these bytes, which have been written, by huge ones
// where the system can. Takes no memory beyond theirs. Thread-safe.
void UseHugePages(void* begin, size_t size_bytes);

}  // namespace ps

#endif  // SERVER_SLICES_HUGE_PAGES_H_
