#include "tests/ptx/races.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tests/ptx/grid.h"

namespace ptx {
namespace {

constexpr uint32_t kKindShift = 30;
constexpr uint32_t kThread = 0;
constexpr uint32_t kWarp = 1;
constexpr uint32_t kBlock = 2;
constexpr uint32_t kBlocks = 3;
constexpr uint32_t kNumber = (1u << kKindShift) - 1;

uint32_t Kind(const Slot& slot) { return slot.who >> kKindShift; }
uint32_t Number(const Slot& slot) { return slot.who & kNumber; }

bool IsBeforeOfOthers(const Slot& slot, const Thread& thread);

// Whether all accesses of a slot happened before what the thread does now.
inline bool IsBefore(const Slot& slot, const Thread& thread) {
  if (slot.epoch == 0 || slot.who == thread.id) return true;
  const Block& block = *thread.block;
  // Most often a thread of the block, before the last barrier.
  if (slot.who - block.first_id < block.num_threads &&
      slot.epoch <= block.barrier_epoch) {
    return true;
  }
  return IsBeforeOfOthers(slot, thread);
}

bool Knows(const Thread& thread, uint32_t of_block, uint32_t epoch) {
  const Block& block = *thread.block;
  return (of_block == block.index && epoch <= block.barrier_epoch) ||
         block.known.KnowsBlock(of_block, epoch) ||
         (thread.known != nullptr && thread.known->KnowsBlock(of_block, epoch));
}

bool IsBeforeOfOthers(const Slot& slot, const Thread& thread) {
  const Block& block = *thread.block;
  const uint32_t number = Number(slot);
  const uint32_t kind = Kind(slot);
  if (kind == kBlocks) {
    const std::vector<uint32_t>& epochs = block.races->readers[number];
    if (epochs.empty()) return false;  // Nothing orders blocks.
    for (uint32_t b = 0; b < epochs.size(); ++b) {
      if (epochs[b] != 0 && !Knows(thread, b, epochs[b])) return false;
    }
    return true;
  }
  const uint32_t of_block =
      kind == kBlock ? number : number / block.num_threads;
  if (Knows(thread, of_block, slot.epoch)) return true;
  if (kind == kBlock) return false;
  const Warp& warp = *thread.warp;
  const uint32_t lane = number - (thread.id - thread.lane);
  if (of_block == block.index && lane < 32 && !warp.known.empty()) {
    const uint32_t known =
        kind == kWarp ? warp.last_sync : warp.known[thread.lane * 32 + lane];
    if (known >= slot.epoch) return true;
  }
  return kind == kThread && (block.known.KnowsThread(number, slot.epoch) ||
                             (thread.known != nullptr &&
                              thread.known->KnowsThread(number, slot.epoch)));
}

// Adds the thread's access to a slot of several.
void Add(const Thread& thread, int line, Slot* slot) {
  const Block& block = *thread.block;
  const uint32_t this_block = kBlock << kKindShift | block.index;
  if (slot->who == this_block && slot->epoch > block.barrier_epoch) {
    slot->epoch = block.epoch;
    return;
  }
  if (IsBefore(*slot, thread)) {
    *slot = {thread.id, block.epoch, line};
    return;
  }
  std::vector<std::vector<uint32_t>>& readers = block.races->readers;
  const uint32_t first = thread.id - thread.lane;
  const uint32_t number = Number(*slot);
  const uint32_t kind = Kind(*slot);
  if (kind == kBlocks) {
    if (!readers[number].empty()) readers[number][block.index] = block.epoch;
    return;
  }
  const uint32_t of_block =
      kind == kBlock ? number : number / block.num_threads;
  if (of_block != block.index) {
    if (block.races->orders_blocks) {
      readers.emplace_back(block.races->num_blocks);
      readers.back()[of_block] = slot->epoch;
      readers.back()[block.index] = block.epoch;
    } else if (readers.empty()) {
      readers.emplace_back();
    }
    slot->who =
        kBlocks << kKindShift | static_cast<uint32_t>(readers.size() - 1);
  } else if (kind != kBlock && number - first < 32) {
    slot->who = kWarp << kKindShift | first;
  } else {
    slot->who = this_block;
  }
  slot->epoch = block.epoch;
  slot->line = line;
}

[[noreturn]] void FailRace(const Touch& touch, const Slot& other,
                           const char* others) {
  const GridRun& run = *touch.thread.block->run;
  const uint32_t number = Number(other);
  const std::string names[] = {
      run.NameThread(number), "the warp of " + run.NameThread(number),
      "several threads of block " + run.NameBlock(number),
      "threads of several blocks"};
  static constexpr const char* kVerbs[] = {"reads", "writes",
                                           "atomically changes", "reads"};
  touch.thread.Fail(
      touch.line,
      std::string("race: ") + kVerbs[touch.access] + " " +
          std::to_string(touch.size) + " bytes of " +
          (touch.is_shared ? "shared memory at " + std::to_string(touch.offset)
                           : "global memory") +
          " that " + names[Kind(other)] + " " + others + " at " +
          run.NameLine(other.line) + ", and nothing orders the two");
}

void Split(ShadowPage* page, uint32_t grain) {
  const uint32_t copies = page->grain / grain;
  std::vector<Cell> cells;
  cells.reserve(page->cells.size() * copies);
  for (const Cell& cell : page->cells) cells.insert(cells.end(), copies, cell);
  page->cells = std::move(cells);
  page->grain = grain;
}

// The part of NoteAccess where there are atomic accesses.
void NoteAtomic(const Touch& touch, Cell* cell) {
  const Thread& thread = touch.thread;
  std::vector<AtomicCell>& atomics = thread.block->races->atomics;
  if (cell->atomic == 0) {
    atomics.emplace_back();
    cell->atomic = static_cast<uint32_t>(atomics.size());
  }
  AtomicCell& of = atomics[cell->atomic - 1];
  const uint32_t who = thread.id + 1;
  if (touch.access == kStrongRead) {
    of.last_strong_read = who;
  } else if (touch.access == kAtomic) {
    Add(thread, touch.line, &of.atomic);
    of.last_atomic = who;
    of.last_strong_read = 0;
  } else if (of.last_atomic != who && of.last_strong_read != who &&
             !IsBefore(of.atomic, thread)) {
    FailRace(touch, of.atomic, "changed atomically");
  }
}

}  // namespace

void Clock::Join(const Clock& other) {
  if (blocks.size() < other.blocks.size()) blocks.resize(other.blocks.size());
  for (size_t i = 0; i < other.blocks.size(); ++i) {
    blocks[i] = std::max(blocks[i], other.blocks[i]);
  }
  for (const auto& [thread, epoch] : other.threads) LearnThread(thread, epoch);
}

void Clock::LearnBlock(uint32_t block, uint32_t epoch) {
  if (blocks.size() <= block) blocks.resize(block + 1);
  blocks[block] = std::max(blocks[block], epoch);
}

void Clock::LearnThread(uint32_t thread, uint32_t epoch) {
  uint32_t& known = threads[thread];
  known = std::max(known, epoch);
}

void NoteAccess(ShadowPage& page, const Touch& touch) {
  const Block& block = *touch.thread.block;
  const Access access = touch.access;
  if (access == kWrite) block.run->CountProgress();
  if (!block.races->are_checked) return;
  const uint32_t launch = touch.is_shared ? block.number : block.races->launch;
  const uint32_t used = touch.used;
  uint32_t grain = static_cast<uint32_t>(touch.size);
  if (used != ~0u) grain = std::min(grain, 4u);
  if (page.launch != launch) {
    page.launch = launch;
    if (page.grain != grain) {
      page.grain = grain;
      page.cells.assign(kShadowPageBytes / grain, Cell());
    }
  } else if (page.grain > grain) {
    Split(&page, grain);
  }
  const int shift = __builtin_ctz(page.grain);
  const uint32_t end = (touch.offset + touch.size - 1) >> shift;
  for (uint32_t i = touch.offset >> shift; i <= end; ++i) {
    if (used != ~0u && (used >> ((i << shift) - touch.offset) &
                        ((1u << page.grain) - 1)) == 0) {
      continue;
    }
    Cell& cell = page.cells[i];
    if (cell.launch != launch) {
      cell = Cell();
      cell.launch = launch;
    }
    const bool reads = access == kRead || access == kStrongRead;
    // A copy of a structure reads its padding, byte by byte.
    if (touch.is_shared && touch.size > 1 && reads && cell.write.epoch == 0 &&
        cell.atomic == 0) {
      touch.thread.Fail(touch.line, "reads shared memory at " +
                                        std::to_string(i * page.grain) +
                                        " that nobody has written");
    }
    if (!IsBefore(cell.write, touch.thread)) {
      FailRace(touch, cell.write, "wrote");
    }
    if (!reads && !IsBefore(cell.read, touch.thread)) {
      FailRace(touch, cell.read, "read");
    }
    if (cell.atomic != 0 || access == kAtomic) NoteAtomic(touch, &cell);
    if (access == kRead) {
      Add(touch.thread, touch.line, &cell.read);
    } else if (access == kWrite) {
      cell.write = {touch.thread.id, block.epoch, touch.line};
      cell.read = Slot();
      cell.atomic = 0;
    }
  }
}

void NoteWarpSync(Warp& warp, uint32_t mask) {
  Block& block = *warp.lanes->block;
  if (warp.known.empty()) warp.known.resize(32 * 32);
  uint32_t all[32] = {};
  Clock clock;
  bool knows_others = false;
  ForLanes(mask, [&](int i) {
    for (int j = 0; j < 32; ++j) {
      all[j] = std::max(all[j], warp.known[i * 32 + j]);
    }
    if (warp.lanes[i].known == nullptr) return;
    knows_others = true;
    clock.Join(*warp.lanes[i].known);
  });
  ForLanes(mask, [&](int i) { all[i] = block.epoch; });
  ForLanes(mask, [&](int i) {
    std::copy_n(all, 32, &warp.known[i * 32]);
    if (knows_others) warp.lanes[i].known = std::make_unique<Clock>(clock);
  });
  warp.last_sync = block.epoch++;
}

void NoteArrival(Thread& thread, Barrier& barrier) {
  if (thread.known != nullptr) barrier.arrivals.Join(*thread.known);
  barrier.arrivals.LearnThread(thread.id, thread.block->epoch++);
}

void NoteBarrier(Block& block, Barrier& barrier) {
  if (barrier.waiting.size() == block.num_live) {
    for (Thread& thread : block.threads) {
      if (thread.known == nullptr) continue;
      block.known.Join(*thread.known);
      thread.known.reset();
    }
    block.barrier_epoch = block.epoch++;
    return;
  }
  Clock clock = std::exchange(barrier.arrivals, Clock());
  for (const Thread* const thread : barrier.waiting) {
    if (thread->known != nullptr) clock.Join(*thread->known);
    clock.LearnThread(thread->id, block.epoch);
  }
  for (Thread* const thread : barrier.waiting) {
    thread->known = std::make_unique<Clock>(clock);
  }
  ++block.epoch;
}

void Thread::Fence() {
  if (!block->races->are_checked) return;
  if (acquired != nullptr) {
    if (known == nullptr) known = std::make_unique<ptx::Clock>();
    known->Join(*acquired);
    acquired.reset();
  }
  released = std::make_unique<ptx::Clock>(block->known);
  if (known != nullptr) released->Join(*known);
  released->LearnBlock(block->index, block->barrier_epoch);
  released->LearnThread(id, block->epoch);
  for (uint32_t i = 0; i < 32 && !warp->known.empty(); ++i) {
    const uint32_t epoch = warp->known[lane * 32 + i];
    if (epoch > block->barrier_epoch) {
      released->LearnThread(id - lane + i, epoch);
    }
  }
  ++block->epoch;
}

void Thread::Acquire(const uint8_t* place) {
  const auto found = block->races->releases.find(place);
  if (found == block->races->releases.end()) return;
  if (acquired == nullptr) acquired = std::make_unique<ptx::Clock>();
  acquired->Join(found->second);
}

void Thread::Release(const uint8_t* place, bool joins) {
  if (!block->races->orders_blocks) return;
  auto& releases = block->races->releases;
  if (!joins) releases.erase(place);
  if (released != nullptr) releases[place].Join(*released);
}

}  // namespace ptx
