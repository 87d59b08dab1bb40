// One run of a grid: the scheduler of its threads.
#ifndef TESTS_PTX_GRID_RUN_H_
#define TESTS_PTX_GRID_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/ptx/grid.h"

namespace ptx {

class GridRun {
 public:
  explicit GridRun(const Grid& grid);
  ~GridRun();
  void Run();

  // What threads ask.
  uint32_t num_blocks() const { return num_blocks_; }
  uint32_t launch() const { return launch_; }
  bool checks_races() const { return checks_races_; }
  // Whether the kernel can order accesses of different blocks at all.
  bool orders_blocks() const {
    return checks_races_ && grid_.kernel->has_fence;
  }
  bool IsParameter(uint64_t address, int size) const;
  // What strong writes to an address have released.
  std::unordered_map<const uint8_t*, Clock>& releases() { return releases_; }
  std::vector<AtomicCell>& atomics() { return atomics_; }
  // Epochs of the blocks that have read something, by number of a Slot.
  std::vector<std::vector<uint32_t>>& readers() { return readers_; }

  std::string NameThread(uint32_t id) const;
  std::string NameBlock(uint32_t index) const;
  std::string NameLine(int line) const;

  // What threads do; all but CountProgress switch to another fiber.
  void CountProgress() { ++progress_; }
  void Finish(Thread& thread);
  void Park(Thread& thread);
  [[noreturn]] void Leave(Fiber* fiber);
  void Fail(const Thread& thread, int line, const std::string& message);
  // Completes the operation of the thread's warp if all its lanes wait.
  bool CompleteWarp(Warp& warp, uint32_t mask);

 private:
  friend void RunFiber();

  void Begin();
  void Sweep(Block& block);
  Thread* Next();
  void SwitchTo(Thread* thread, void** saved);
  Fiber* NewFiber();
  void RunThreads(Fiber* fiber);
  bool ReleaseBarriers(Block& block);
  bool CanRun(const Block& block) const;
  void FailDeadlock();

  const Grid& grid_;
  const uint32_t num_blocks_;
  const uint32_t block_size_;
  const bool checks_races_;
  const uint32_t launch_;
  std::vector<uint8_t*> parameters_;
  std::vector<uint32_t> block_order_;
  uint32_t num_begun_ = 0;
  std::vector<std::unique_ptr<Block>> active_, unused_;
  std::vector<Thread*> waiting_;  // Scratch of ReleaseBarriers.
  std::vector<Fiber*> fibers_;    // Those in use.
  std::unordered_map<const uint8_t*, Clock> releases_;
  std::vector<AtomicCell> atomics_;
  std::vector<std::vector<uint32_t>> readers_;
  uint64_t progress_ = 0;
  bool failed_ = false;
  // Of the sweep that is under way: the threads in order, from the next one to
  // the end of its warp, and whether lanes of it have met.
  Thread* const* next_ = nullptr;
  Thread* const* end_ = nullptr;
  bool lanes_met_ = false;
  Thread* current_ = nullptr;
  void* stack_pointer_ = nullptr;  // The scheduler's.
};

}  // namespace ptx

#endif  // TESTS_PTX_GRID_RUN_H_
