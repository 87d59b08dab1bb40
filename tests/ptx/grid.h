// Runs grids of threads on the CPU: a fiber for each thread, one at a time.
#ifndef TESTS_PTX_GRID_H_
#define TESTS_PTX_GRID_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/ptx/races.h"
#include "tests/ptx/thread.h"

namespace ptx {

struct Grid {
  const Kernel* kernel = nullptr;
  Index num_blocks = {1, 1, 1};
  Index num_threads = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<std::vector<uint8_t>> parameters;
};

struct Warp {
  uint32_t live = 0;     // A bit for each lane that has not exited.
  uint32_t waiting = 0;  // And for those at an operation of the warp.
  Thread* lanes = nullptr;
  // known[i][j]: the epoch up to which lane i has seen lane j's accesses. Empty
  // until lanes meet.
  std::vector<uint32_t> known;
  uint32_t last_sync = 0;  // Epoch of the last meeting.
};

// One of a block's 16 barriers.
struct Barrier {
  std::vector<Thread*> waiting;
  uint32_t num_arrived = 0;  // By bar.arrive, without waiting.
  Clock arrivals;            // The accesses before.
};

class GridRun;

// A block that has begun.
struct Block : BlockShape {
  uint32_t index;
  uint32_t first_id;  // Its first thread's.
  uint32_t number;    // Among all launches and blocks.
  GridRun* run;
  RaceState* races;
  std::vector<Thread> threads;
  std::vector<Thread*> order;
  std::vector<Warp> warps;
  uint32_t num_live;
  Barrier barriers[16];
  std::vector<uint8_t> shared_memory;
  uint8_t* shared;
  uint32_t shared_bytes;
  std::vector<ShadowPage> shadow;  // Of shared memory.
  // Counts barriers, fences and meetings of lanes; and its value at the last
  // barrier of all.
  uint32_t epoch;
  uint32_t barrier_epoch;
  Clock known;  // What all its threads know of other blocks.
};

// One run of a grid: the scheduler of its threads. One at a time.
class GridRun {
 public:
  explicit GridRun(const Grid& grid);
  ~GridRun();

  // Runs the grid to its end. An error goes to ReportFault.
  void Run();

  // What threads ask.
  bool IsParameter(uint64_t address, int size) const;
  std::string NameThread(uint32_t id) const;
  std::string NameBlock(uint32_t index) const;
  std::string NameLine(int line) const;

  // What threads do; Park and Leave switch to another fiber.
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
  void RunThreads();
  bool ReleaseBarriers(Block& block);
  void FailDeadlock();

  const Grid& grid_;
  const uint32_t num_blocks_;
  const uint32_t block_size_;
  std::vector<uint8_t*> parameters_;
  std::vector<uint32_t> block_order_;
  uint32_t num_begun_ = 0;
  std::vector<std::unique_ptr<Block>> active_, unused_;
  RaceState races_;
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

// A number for a launch or a block.
uint32_t NextNumber();

// The kernel with a mangled name, or null.
const Kernel* FindKernel(const std::string& name);

// A name as people write it.
std::string Demangled(const char* name);

// Calls `visit` with the number of each lane of a mask.
template <typename Visit>
void ForLanes(uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(__builtin_ctz(mask));
}

}  // namespace ptx

#endif  // TESTS_PTX_GRID_H_
