// A thread of a kernel that runs on the CPU, as the C++ that translate.py
// writes sees it; and how such C++ registers its kernels.
#ifndef TESTS_PTX_THREAD_H_
#define TESTS_PTX_THREAD_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace ptx {

struct Block;
struct Clock;
struct Fiber;
struct Warp;

// What an access does. Strong reads (volatile, relaxed, acquire) do not race
// with atomics; strong writes count as atomics.
enum Access { kRead, kWrite, kAtomic, kStrongRead };

// What the lanes of a warp do together.
enum class WarpOperation {
  kSync,
  kUp,
  kDown,
  kBfly,
  kIdx,
  kAll,
  kAny,
  kUni,
  kBallot,
  kMatchAny,
  kMatchAll,
  kAdd,
  kMin,
  kMax,
  kSignedMin,
  kSignedMax,
  kAnd,
  kOr,
  kXor,
  kElect,
};

enum class ThreadState { kNew, kReady, kAtBarrier, kAtWarp, kDone };

// What special registers say of a block and its grid.
struct BlockShape {
  uint32_t ctaid[3];
  uint32_t ntid[3];
  uint32_t nctaid[3];
  uint32_t dynamic_shared;
  uint32_t num_threads;
};

// `line` is always a line of the PTX.
struct alignas(64) Thread {
  // Memory: checks an access of `size` bytes and returns their place on the
  // host. used: a bit for each byte that the program needs.
  uint8_t* Global(uint64_t address, int size, Access access, int line,
                  uint32_t used);
  uint8_t* Shared(uint64_t address, int size, Access access, int line,
                  uint32_t used);
  uint8_t* Generic(uint64_t address, int size, Access access, int line,
                   uint32_t used);
  // The thread's own memory, parameters, and constants.
  template <int kSize>
  uint8_t* Local(uint64_t address, int line) {
    if (address % kSize != 0) FailAlignment(address, kSize, line);
    return reinterpret_cast<uint8_t*>(address);
  }
  bool IsShared(uint64_t address) const;
  bool IsLocal(uint64_t address) const;
  bool IsGlobal(uint64_t address) const {
    return !IsShared(address) && !IsLocal(address);
  }

  // Order of memory between blocks (races.h). Acquire follows a strong read,
  // Release a strong write; joins: the write is an atomic operation.
  void Fence();
  void Acquire(const uint8_t* place);
  void Release(const uint8_t* place, bool joins);

  // Lets other threads run; YieldSometimes does so at every 16th call.
  void Yield();
  void YieldSometimes() {
    if (++num_atomics % 16 == 0) Yield();
  }
  uint64_t Clock();

  // Waits at barrier `number` for `count` threads, or all if it is 0, and
  // returns how many of them had `predicate`.
  uint32_t Barrier(uint32_t number, uint32_t count, bool predicate, int line);
  uint32_t BarrierThreads() const { return barrier_total; }
  void Arrive(uint32_t number, uint32_t count, int line);

  void WarpSync(uint32_t mask, int line);
  uint64_t Warp(WarpOperation operation, uint64_t value, uint32_t mask,
                int line);
  uint32_t Shuffle(WarpOperation operation, uint32_t value, uint32_t b,
                   uint32_t c, uint32_t mask, bool* valid, int line);

  [[noreturn]] void Exit();
  // Ends the launch with an error.
  [[noreturn]] void Fail(int line, const std::string& message);
  [[noreturn]] void FailAlignment(uint64_t address, int size, int line);
  [[noreturn]] void FailAssertion(int line, uint64_t message, uint64_t file,
                                  uint64_t source_line);

  // What other threads look at is in one line of the cache.
  ThreadState state;
  uint32_t lane;
  Fiber* fiber;
  WarpOperation operation;
  uint32_t mask;
  uint64_t operand;
  uint64_t result;  // Of a barrier, too.
  uint32_t shuffle_b, shuffle_c;
  int line;  // Where it waits.
  bool valid;
  bool predicate;  // At a barrier.

  uint32_t tid[3];
  uint32_t index;  // In the block.
  uint32_t id;     // In the grid.
  const BlockShape* shape;
  Block* block;
  ptx::Warp* warp;
  uint64_t shared_address;  // Of the block's shared memory, on the host.
  uint32_t num_atomics;
  uint32_t barrier;
  uint32_t barrier_count;
  uint32_t barrier_total;
  // What it knows of other threads' accesses, beyond what its block knows: now,
  // after its next fence, and at its last one. Null: nothing.
  std::unique_ptr<ptx::Clock> known, acquired, released;
};

struct SourceFile {
  int number;
  const char* path;
};
// The first line of the PTX that belongs to a line of a source file.
struct SourceLine {
  int line;
  int file;
  int source_line;
};

struct Kernel {
  const char* name;  // Mangled.
  void (*run)(Thread&, uint8_t* const* parameters);
  uint32_t parameter_bytes[40];
  int num_parameters;
  uint32_t shared_bytes;  // Without dynamic shared memory.
  uint32_t max_threads;
  bool has_fence;
  const SourceFile* files = nullptr;
  int num_files = 0;
  const SourceLine* lines = nullptr;
  int num_lines = 0;
};

// Adds kernels to those that launches find. A name that exists is left alone.
class KernelRegistrar {
 public:
  template <int kKernels, int kFiles, int kLines>
  KernelRegistrar(const Kernel (&kernels)[kKernels],
                  const SourceFile (&files)[kFiles],
                  const SourceLine (&lines)[kLines]) {
    for (Kernel kernel : kernels) {
      kernel.files = files, kernel.num_files = kFiles;
      kernel.lines = lines, kernel.num_lines = kLines;
      Add(kernel);
    }
  }

 private:
  static void Add(const Kernel& kernel);
};

// Makes a module's variable part of global memory.
class VariableRegistrar {
 public:
  VariableRegistrar(void* data, size_t size_bytes);
};

inline uint64_t Address(const void* place) {
  return reinterpret_cast<uint64_t>(place);
}
template <typename T>
inline T Get(const uint8_t* place, int i) {
  T value;
  std::memcpy(&value, place + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
inline void Put(uint8_t* place, int i, T value) {
  std::memcpy(place + i * sizeof(T), &value, sizeof(T));
}

}  // namespace ptx

#endif  // TESTS_PTX_THREAD_H_
