// Finds accesses that race: two threads of a launch touch the same bytes, one
// of them writes, not both are atomic, and nothing orders the two.
//
// What orders them, besides the program of one thread:
//   - a barrier of the block (bar.sync), or bar.warp.sync among its lanes;
//   - between blocks, as the PTX memory model has it: a fence (membar.gl or
//     stronger), then an atomic or strong write of some address; a strong read
//     or atomic of that address after it, then a fence; and barriers on either
//     side. acquire and release are an access and a fence.
// A thread's own atomic or strong read comes after the atomics that it sees.
// Shuffles and votes order nothing. A fence of a block alone orders nothing.
//
// Each thread's accesses are dated with its block's epoch, which grows with
// every barrier, fence and meeting of lanes. Of each piece of memory the last
// plain write, the last plain reads and the last atomics are kept, the reads
// and atomics of several threads as those of a warp, a block, or several
// blocks, with the latest date. So no reported race is none; a race may be
// missed: that of an atomic that is not a block's last one, one of lanes that
// did not all meet, and one of a strong read before a plain write.
#ifndef TESTS_PTX_RACES_H_
#define TESTS_PTX_RACES_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "tests/ptx/thread.h"

namespace ptx {

struct Barrier;

// What has happened before: all accesses of a block up to an epoch, and, of
// single threads, up to a later one.
struct Clock {
  std::vector<uint32_t> blocks;
  std::map<uint32_t, uint32_t> threads;

  void Join(const Clock& other);
  bool KnowsBlock(uint32_t block, uint32_t epoch) const {
    return block < blocks.size() && blocks[block] >= epoch;
  }
  bool KnowsThread(uint32_t thread, uint32_t epoch) const {
    const auto found = threads.find(thread);
    return found != threads.end() && found->second >= epoch;
  }
  void LearnBlock(uint32_t block, uint32_t epoch);
  void LearnThread(uint32_t thread, uint32_t epoch);
};

// Accesses of one kind. `who`: in its two upper bits whether it is a thread, a
// warp (by its first thread), a block, or several blocks.
struct Slot {
  uint32_t who = 0;
  uint32_t epoch = 0;  // 0: none.
  int line = 0;
};

// Atomic accesses, and the threads, counted from 1, that made the last one and
// the last strong read after it: these have seen all of them.
struct AtomicCell {
  Slot atomic;
  uint32_t last_atomic = 0;
  uint32_t last_strong_read = 0;
};

// What a launch remembers besides the memory's cells.
struct RaceState {
  bool are_checked;
  bool orders_blocks;  // Whether the kernel can order different blocks at all.
  uint32_t launch;     // A number among all launches and blocks.
  uint32_t num_blocks;
  // What strong writes to an address have released.
  std::unordered_map<const uint8_t*, Clock> releases;
  std::vector<AtomicCell> atomics;
  // Epochs of the blocks that have read something, by number of a Slot.
  std::vector<std::vector<uint32_t>> readers;
};

// Half a line of the cache, since this is what most of the time goes into.
struct alignas(32) Cell {
  uint32_t launch = 0;  // Or the block, for shared memory.
  uint32_t atomic = 0;  // In RaceState::atomics, from 1; 0: none.
  Slot write;
  Slot read;
};

// The cells of up to kShadowPageBytes bytes of memory; each stands for as many
// bytes as the smallest access so far.
inline constexpr uint64_t kShadowPageBytes = 4096;
struct ShadowPage {
  uint32_t launch = 0;
  uint32_t grain = 0;
  std::vector<Cell> cells;
};

// What a thread accesses: bytes of a page.
struct Touch {
  Thread& thread;
  uint32_t offset;
  int size;
  Access access;
  bool is_shared;
  int line;
  uint32_t used;  // A bit for each byte that the program needs.
};

// Notes an access, and ends the launch if it races or, of shared memory, reads
// what nobody has written (more than single bytes). What other launches did, or
// other blocks to shared memory, is forgotten.
void NoteAccess(ShadowPage& page, const Touch& touch);

// After a meeting of the lanes in `mask`; of the threads that wait at a
// barrier; and when a thread arrives at a barrier without waiting.
void NoteWarpSync(Warp& warp, uint32_t mask);
void NoteBarrier(Block& block, Barrier& barrier);
void NoteArrival(Thread& thread, Barrier& barrier);

}  // namespace ptx

#endif  // TESTS_PTX_RACES_H_
