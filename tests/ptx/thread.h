// A thread of a kernel that runs on the CPU, as the C++ that translate.py
// writes sees it; and how such C++ registers its kernels.
#ifndef TESTS_PTX_THREAD_H_
#define TESTS_PTX_THREAD_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

struct Block;
struct Clock;
struct Fiber;
struct Warp;

// What an access does. Strong reads (volatile, relaxed, acquire) do not race
// with atomics; strong writes count as atomics.
enum Access { kRead, kWrite, kAtomic, kStrongRead };

// What the lanes of a warp do together: wait; read another lane's value (the
// kinds of `shfl`); learn which lanes have the same value, or which lanes these
// are if all have the same (else 0); combine all values.
enum WarpOperation {
  kSync,
  kUp,
  kDown,
  kBfly,
  kIdx,
  kMatch,
  kSame,
  kAdd,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
};

enum class ThreadState { kNew, kReady, kAtBarrier, kAtWarp, kDone };

// A number of threads or blocks, or a place among them.
struct Index {
  uint32_t x, y, z;
};

// What special registers say of a block and its grid.
struct BlockShape {
  Index ctaid, ntid, nctaid;
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
  void Arrive(uint32_t number);

  uint64_t Warp(WarpOperation operation, uint64_t value, uint32_t mask,
                int line);
  uint32_t Shuffle(WarpOperation operation, uint32_t value, uint32_t b,
                   uint32_t c, uint32_t mask, int line);

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
  uint64_t operand;  // A predicate, at a barrier.
  uint64_t result;
  uint32_t shuffle_b, shuffle_c;
  int line;    // Where it waits.
  bool valid;  // After a shuffle.

  Index tid;
  uint32_t index;  // In the block.
  uint32_t id;     // In the grid.
  const BlockShape* shape;
  Block* block;
  ptx::Warp* warp;
  uint64_t shared_address;  // Of the block's shared memory, on the host.
  uint32_t num_atomics;
  uint32_t barrier_count;
  // What it knows of other threads' accesses, beyond what its block knows: now,
  // after its next fence, and at its last one. Null: nothing.
  std::unique_ptr<ptx::Clock> known, acquired, released;
};

// The first line of the PTX that belongs to a line of a source file.
struct SourceLine {
  int line;
  const char* file;
  int source_line;
};

struct Kernel {
  const char* name;  // Mangled.
  void (*run)(Thread&, uint8_t* const* parameters);
  std::vector<uint32_t> parameter_bytes;
  uint32_t shared_bytes;  // Without dynamic shared memory.
  uint32_t max_threads;
  bool has_fence;
  const std::vector<SourceLine>* lines;
};

// Adds kernels to those that launches find. A name that exists is left alone.
struct KernelRegistrar {
  explicit KernelRegistrar(const std::vector<Kernel>& kernels);
};

// Makes a module's variable part of global memory.
struct VariableRegistrar {
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
