// Runs grids of threads on the CPU: a fiber for each thread, one at a time.
#ifndef TESTS_PTX_GRID_H_
#define TESTS_PTX_GRID_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/ptx/device.h"
#include "tests/ptx/races.h"
#include "tests/ptx/thread.h"

namespace ptx {

struct Grid {
  const Kernel* kernel = nullptr;
  uint32_t num_blocks[3] = {1, 1, 1};
  uint32_t num_threads[3] = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  // The values of the parameters, one after the other, each aligned to 16
  // bytes.
  std::vector<uint8_t> parameters;
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

class GridRun;

// A block that has begun.
struct Block : BlockShape {
  uint32_t index;
  uint32_t first_id;  // Its first thread's.
  uint32_t number;    // Among all launches and blocks.
  GridRun* run;
  std::vector<Thread> threads;
  std::vector<Thread*> order;
  std::vector<Warp> warps;
  uint32_t num_live;
  uint32_t arrived[16];  // By bar.arrive.
  std::vector<uint8_t> shared_memory;
  uint8_t* shared;
  uint32_t shared_bytes;
  std::vector<ShadowPage> shadow;  // Of shared memory.
  // Counts barriers, fences and meetings of lanes; and its value at the last
  // barrier of all.
  uint32_t epoch;
  uint32_t barrier_epoch;
  Clock known;         // What all its threads know of other blocks.
  Clock arrivals[16];  // Accesses before bar.arrive.
};

// Runs a grid to its end. An error goes to ReportFault. For use by one thread
// at a time.
void RunGrid(const Grid& grid);

// The kernel with a mangled name, or null.
const Kernel* FindKernel(const std::string& name);

// A name as people write it.
std::string Demangled(const char* name);

}  // namespace ptx

#endif  // TESTS_PTX_GRID_H_
