#include "tests/ptx/races.h"

#include <algorithm>
#include <utility>

#include "tests/ptx/grid.h"
#include "tests/ptx/grid_run.h"

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

bool IsBeforeOfOthers(const Slot& slot, const Thread& thread) {
  const Block& block = *thread.block;
  const uint32_t number = Number(slot);
  const uint32_t kind = Kind(slot);
  if (kind == kBlocks) {
    const std::vector<uint32_t>& epochs = block.run->readers()[number];
    if (epochs.empty()) return false;  // Nothing orders blocks.
    for (uint32_t b = 0; b < epochs.size(); ++b) {
      if (epochs[b] == 0) continue;
      if (b == block.index ? epochs[b] > block.barrier_epoch
                           : !block.known.KnowsBlock(b, epochs[b]) &&
                                 !(thread.known != nullptr &&
                                   thread.known->KnowsBlock(b, epochs[b]))) {
        return false;
      }
    }
    return true;
  }
  const uint32_t of_block =
      kind == kBlock ? number : number / block.num_threads;
  if (of_block == block.index) {
    if (slot.epoch <= block.barrier_epoch) return true;
    if (kind != kBlock && !thread.warp->known.empty()) {
      const uint32_t first = thread.id - thread.lane;
      if (number >= first && number < first + 32) {
        const uint32_t known =
            kind == kWarp
                ? thread.warp->last_sync
                : thread.warp->known[thread.lane * 32 + number - first];
        if (known >= slot.epoch) return true;
      }
    }
  } else if (block.known.KnowsBlock(of_block, slot.epoch)) {
    return true;
  }
  const Clock* const clocks[] = {&block.known, thread.known.get()};
  for (const Clock* const clock : clocks) {
    if (clock == nullptr) continue;
    if (clock->KnowsBlock(of_block, slot.epoch)) return true;
    if (kind == kThread) {
      const auto found = clock->threads.find(number);
      if (found != clock->threads.end() && found->second >= slot.epoch) {
        return true;
      }
    }
  }
  return false;
}

// Adds the thread's access to a slot of several.
void Add(const Thread& thread, int line, Slot* slot) {
  const Block& block = *thread.block;
  if (slot->who == (kBlock << kKindShift | block.index) && slot->epoch != 0) {
    if (slot->epoch > block.barrier_epoch) {
      slot->epoch = block.epoch;
    } else {
      *slot = {thread.id, block.epoch, line};
    }
    return;
  }
  if (Kind(*slot) == kBlocks && slot->epoch != 0 && !IsBefore(*slot, thread)) {
    std::vector<uint32_t>& epochs = block.run->readers()[Number(*slot)];
    if (!epochs.empty()) epochs[block.index] = block.epoch;
    return;
  }
  if (IsBefore(*slot, thread)) {
    *slot = {thread.id, block.epoch, line};
    return;
  }
  const uint32_t first = thread.id - thread.lane;
  const uint32_t number = Number(*slot);
  const uint32_t kind = Kind(*slot);
  const uint32_t of_block =
      kind == kBlock ? number : number / block.num_threads;
  if (of_block != block.index) {
    std::vector<std::vector<uint32_t>>& readers = block.run->readers();
    if (block.run->orders_blocks()) {
      readers.emplace_back(block.run->num_blocks());
      readers.back()[of_block] = slot->epoch;
      readers.back()[block.index] = block.epoch;
    } else if (readers.empty()) {
      readers.emplace_back();
    }
    slot->who = kBlocks << kKindShift |
                static_cast<uint32_t>(
                    block.run->orders_blocks() ? readers.size() - 1 : 0);
  } else if (kind != kBlock && number >= first && number < first + 32) {
    slot->who = kWarp << kKindShift | first;
  } else {
    slot->who = kBlock << kKindShift | block.index;
  }
  slot->epoch = block.epoch;
  slot->line = line;
}

[[noreturn]] void FailRace(const Thread& thread, const Slot& other,
                           Access access, const char* others, bool is_shared,
                           uint32_t offset, int size, int line) {
  const GridRun& run = *thread.block->run;
  std::string who;
  switch (Kind(other)) {
    case kThread:
      who = run.NameThread(Number(other));
      break;
    case kWarp:
      who = "the warp of " + run.NameThread(Number(other));
      break;
    case kBlock:
      who = "several threads of block " + run.NameBlock(Number(other));
      break;
    default:
      who = "threads of several blocks";
  }
  static constexpr const char* kVerbs[] = {"reads", "writes",
                                           "atomically changes", "reads"};
  const_cast<Thread&>(thread).Fail(
      line, std::string("race: ") + kVerbs[access] + " " +
                std::to_string(size) + " bytes of " +
                (is_shared ? "shared memory at " + std::to_string(offset)
                           : std::string("global memory")) +
                " that " + who + " " + others + " at " +
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
void NoteAtomic(Thread& thread, Access access, bool is_shared, uint32_t offset,
                int size, int line, Cell* cell) {
  std::vector<AtomicCell>& atomics = thread.block->run->atomics();
  if (cell->atomic == 0) {
    atomics.emplace_back();
    cell->atomic = static_cast<uint32_t>(atomics.size());
  }
  AtomicCell& of = atomics[cell->atomic - 1];
  switch (access) {
    case kStrongRead:
      of.last_strong_read = thread.id + 1;
      break;
    case kAtomic:
      Add(thread, line, &of.atomic);
      of.last_atomic = thread.id + 1;
      of.last_strong_read = 0;
      break;
    default:
      if (!IsBefore(of.atomic, thread) && of.last_atomic != thread.id + 1 &&
          of.last_strong_read != thread.id + 1) {
        FailRace(thread, of.atomic, access, "changed atomically", is_shared,
                 offset, size, line);
      }
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

void NoteAccess(Thread& thread, ShadowPage& page, uint32_t launch,
                uint32_t offset, int size, Access access, bool is_shared,
                int line, uint32_t used) {
  uint32_t grain = static_cast<uint32_t>(size);
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
  const uint32_t end = (offset + size - 1) >> shift;
  for (uint32_t i = offset >> shift; i <= end; ++i) {
    if (used != ~0u &&
        (used >> ((i << shift) - offset) & ((1u << page.grain) - 1)) == 0) {
      continue;
    }
    Cell& cell = page.cells[i];
    if (cell.launch != launch) {
      cell = Cell();
      cell.launch = launch;
    }
    // A copy of a structure reads its padding, byte by byte.
    if (is_shared && size > 1 && (access == kRead || access == kStrongRead) &&
        cell.write.epoch == 0 && cell.atomic == 0) {
      thread.Fail(line, "reads shared memory at " +
                            std::to_string(i * page.grain) +
                            " that nobody has written");
    }
    if (!IsBefore(cell.write, thread)) {
      FailRace(thread, cell.write, access, "wrote", is_shared, offset, size,
               line);
    }
    if (access != kStrongRead && access != kRead &&
        !IsBefore(cell.read, thread)) {
      FailRace(thread, cell.read, access, "read", is_shared, offset, size,
               line);
    }
    if (cell.atomic != 0 || access == kAtomic) {
      NoteAtomic(thread, access, is_shared, offset, size, line, &cell);
    }
    if (access == kRead) {
      Add(thread, line, &cell.read);
    } else if (access == kWrite) {
      cell.write = {thread.id, thread.block->epoch, line};
      cell.read = Slot();
      cell.atomic = 0;
    }
  }
}

void NoteWarpSync(Warp& warp, uint32_t mask) {
  Block& block = *warp.lanes->block;
  if (warp.known.empty()) warp.known.resize(32 * 32);
  uint32_t all[32] = {};
  std::unique_ptr<Clock> clock;
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    for (int j = 0; j < 32; ++j) {
      all[j] = std::max(all[j], warp.known[i * 32 + j]);
    }
    if (warp.lanes[i].known == nullptr) continue;
    if (clock == nullptr) clock = std::make_unique<Clock>();
    clock->Join(*warp.lanes[i].known);
  }
  for (int i = 0; i < 32; ++i) {
    if (mask >> i & 1) all[i] = block.epoch;
  }
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    std::copy_n(all, 32, &warp.known[i * 32]);
    if (clock != nullptr) {
      warp.lanes[i].known = std::make_unique<Clock>(*clock);
    }
  }
  warp.last_sync = block.epoch++;
}

void NoteArrival(Thread& thread, uint32_t number) {
  Block& block = *thread.block;
  if (thread.known != nullptr) block.arrivals[number].Join(*thread.known);
  block.arrivals[number].LearnThread(thread.id, block.epoch++);
}

void NoteBarrier(Block& block, uint32_t number,
                 const std::vector<Thread*>& threads) {
  if (threads.size() == block.num_live) {
    for (Thread& thread : block.threads) {
      if (thread.known == nullptr) continue;
      block.known.Join(*thread.known);
      thread.known.reset();
    }
    block.barrier_epoch = block.epoch++;
    return;
  }
  Clock clock = std::move(block.arrivals[number]);
  block.arrivals[number] = Clock();
  for (const Thread* const thread : threads) {
    if (thread->known != nullptr) clock.Join(*thread->known);
    clock.LearnThread(thread->id, block.epoch);
  }
  for (Thread* const thread : threads) {
    thread->known = std::make_unique<Clock>(clock);
  }
  ++block.epoch;
}

void Thread::Fence() {
  if (block->run->checks_races()) {
    if (acquired != nullptr) {
      if (known == nullptr) known = std::make_unique<ptx::Clock>();
      known->Join(*acquired);
      acquired.reset();
    }
    released = std::make_unique<ptx::Clock>(block->known);
    if (known != nullptr) released->Join(*known);
    released->LearnBlock(block->index, block->barrier_epoch);
    released->LearnThread(id, block->epoch);
    if (!warp->known.empty()) {
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t epoch = warp->known[lane * 32 + i];
        if (epoch > block->barrier_epoch) {
          released->LearnThread(id - lane + i, epoch);
        }
      }
    }
    ++block->epoch;
  }
}

void Thread::Acquire(const uint8_t* place) {
  if (!block->run->orders_blocks()) return;
  const auto found = block->run->releases().find(place);
  if (found == block->run->releases().end()) return;
  if (acquired == nullptr) acquired = std::make_unique<ptx::Clock>();
  acquired->Join(found->second);
}

void Thread::Release(const uint8_t* place, bool joins) {
  if (!block->run->orders_blocks()) return;
  auto& releases = block->run->releases();
  if (!joins) releases.erase(place);
  if (released != nullptr) releases[place].Join(*released);
}

}  // namespace ptx
