#include "tests/ptx/grid.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "tests/ptx/device.h"
#include "tests/ptx/runtime.h"

// Saves the registers that a call preserves and the stack pointer, and goes on
// with another stack.
asm(R"(
.text
.globl ptx_switch
.type ptx_switch, @function
ptx_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
extern "C" void ptx_switch(void** saved, void* to);

namespace ptx {

// A stack, on which one thread after the other runs.
struct Fiber {
  uint8_t* stack = nullptr;
  void** top = nullptr;
  void* stack_pointer = nullptr;
};

namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;

// Sweeps over all blocks in which nothing is written, no thread ends and no
// barrier opens: then the threads wait for each other.
constexpr int kMaxIdleSweeps = 100000;

// All that exist, and those that no thread uses.
std::vector<Fiber*>& Fibers() {
  static auto* const fibers = new std::vector<Fiber*>();
  return *fibers;
}
std::vector<Fiber*>& FreeFibers() {
  static auto* const fibers = new std::vector<Fiber*>();
  return *fibers;
}

GridRun* running = nullptr;

uint32_t Product(const Index& extents) {
  return extents.x * extents.y * extents.z;
}

Index Unravel(uint32_t i, const Index& extents) {
  return {i % extents.x, i / extents.x % extents.y, i / extents.x / extents.y};
}

std::string NameIndex(uint32_t i, const Index& extents) {
  const Index at = Unravel(i, extents);
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
         std::to_string(at.z) + ")";
}

// Numbers from 0 in the order that is set; groups of them stay together.
std::vector<uint32_t> Arranged(uint32_t count, uint32_t group, uint32_t salt) {
  std::vector<uint32_t> items(count);
  std::iota(items.begin(), items.end(), 0);
  if (CurrentOrder() == Order::kBackward) {
    std::reverse(items.begin(), items.end());
  } else if (CurrentOrder() == Order::kShuffled) {
    std::mt19937 random(ShuffleSeed() * 7919 + salt);
    std::vector<uint32_t> ranks(items);  // Of the groups.
    std::shuffle(ranks.begin(), ranks.end(), random);
    std::shuffle(items.begin(), items.end(), random);
    std::stable_sort(items.begin(), items.end(), [&](uint32_t a, uint32_t b) {
      return ranks[a / group] < ranks[b / group];
    });
  }
  return items;
}

std::map<std::string, Kernel>& Kernels() {
  static auto* const kernels = new std::map<std::string, Kernel>();
  return *kernels;
}

// A kernel's name without what may differ between the object and the PTX. nvcc
// names the unnamed namespace of a file by a hash that depends on the folder it
// runs in, the length of the file's name, the name, another hash and at times
// its process: "_GLOBAL__N__61baa556_15_step_kernels_cu_a885f55c_123".
std::string KernelKey(const std::string& name) {
  static constexpr char kUnnamed[] = "_GLOBAL__N__";
  constexpr size_t kHash = 8;
  const size_t at = name.find(kUnnamed);
  if (at == std::string::npos) return name;
  const size_t file = at + sizeof(kUnnamed) - 1 + kHash + 1;
  const size_t size = std::atoi(name.c_str() + file) + 1 + kHash;
  return Demangled(name.c_str()) + name.substr(name.find('_', file), 1 + size);
}

// Two values combined by an operation of a warp. Those of `min` and `max` are
// signed: 32 bits with or without a sign, widened.
uint64_t Combined(WarpOperation operation, uint64_t x, uint64_t y) {
  switch (operation) {
    case kAdd:
      return x + y;
    case kMin:
      return std::min<int64_t>(x, y);
    case kMax:
      return std::max<int64_t>(x, y);
    case kAnd:
      return x & y;
    case kOr:
      return x | y;
    default:
      return x ^ y;
  }
}

// The lane that a shuffle gives to this one; sets `valid` ("PTX ISA", shfl).
int ShuffledLane(Thread& thread) {
  const int lane = thread.lane;
  const int segment = thread.shuffle_c >> 8 & 31;
  const int clamp = thread.shuffle_c & 31;
  const int b = thread.shuffle_b & 31;
  const int last = (lane & segment) | (clamp & ~segment);
  const int from = thread.operation == kUp     ? lane - b
                   : thread.operation == kDown ? lane + b
                   : thread.operation == kBfly
                       ? lane ^ b
                       : (lane & segment) | (b & ~segment);
  thread.valid = thread.operation == kUp ? from >= last : from <= last;
  return thread.valid ? from : lane;
}

}  // namespace

void RunFiber() { running->RunThreads(); }

uint32_t NextNumber() {
  static uint32_t number = 0;
  return ++number;
}

KernelRegistrar::KernelRegistrar(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    Kernels().emplace(KernelKey(kernel.name), kernel);
  }
}

const Kernel* FindKernel(const std::string& name) {
  const auto found = Kernels().find(KernelKey(name));
  return found == Kernels().end() ? nullptr : &found->second;
}

// Its stack is empty: it goes on with RunFiber.
Fiber* NewFiber() {
  if (FreeFibers().empty()) {
    void* const memory =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    Require(
        memory != MAP_FAILED && mprotect(memory, kGuardBytes, PROT_NONE) == 0,
        "no memory for a thread's stack");
    auto* const fiber = new Fiber();
    fiber->stack = static_cast<uint8_t*>(memory);
    // Not all at the same place of a page, lest they share a cache's lines.
    fiber->top = reinterpret_cast<void**>(fiber->stack + kStackBytes -
                                          Fibers().size() % 61 * 1088);
    Fibers().push_back(fiber);
    FreeFibers().push_back(fiber);
  }
  Fiber* const fiber = FreeFibers().back();
  FreeFibers().pop_back();
  void** top = fiber->top;
  *--top = nullptr;  // The return address, of which calls expect 16 n + 8.
  *--top = reinterpret_cast<void*>(RunFiber);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber->stack_pointer = top;
  return fiber;
}

std::string Demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string demangled = text == nullptr ? name : text;
  std::free(text);
  return demangled;
}

GridRun::GridRun(const Grid& grid)
    : grid_(grid),
      num_blocks_(Product(grid.num_blocks)),
      block_size_(Product(grid.num_threads)),
      block_order_(Arranged(num_blocks_, /*group=*/1, /*salt=*/0)) {
  for (const std::vector<uint8_t>& parameter : grid.parameters) {
    parameters_.push_back(const_cast<uint8_t*>(parameter.data()));
  }
  races_.launch = NextNumber();
  races_.num_blocks = num_blocks_;
  races_.are_checked = RacesAreChecked();
  races_.orders_blocks = RacesAreChecked() && grid.kernel->has_fence;
}

GridRun::~GridRun() {
  // After an error threads are still on their stacks.
  if (failed_) FreeFibers() = Fibers();
}

bool GridRun::IsParameter(uint64_t address, int size) const {
  for (const std::vector<uint8_t>& parameter : grid_.parameters) {
    const uint64_t offset = address - Address(parameter.data());
    if (offset < parameter.size() && offset + size <= parameter.size()) {
      return true;
    }
  }
  return false;
}

// Threads and blocks.

void GridRun::Begin() {
  if (unused_.empty()) {
    unused_.push_back(std::make_unique<Block>());
    Block& block = *unused_.back();
    block.threads.resize(block_size_);
    block.shared_bytes =
        grid_.kernel->shared_bytes + grid_.dynamic_shared_bytes;
    block.shared_memory.resize(block.shared_bytes + 256);
    block.shared = block.shared_memory.data() +
                   (256 - Address(block.shared_memory.data()) % 256);
    block.shadow.resize((block.shared_bytes + kShadowPageBytes - 1) /
                        kShadowPageBytes);
  }
  std::unique_ptr<Block> owned = std::move(unused_.back());
  unused_.pop_back();
  Block& block = *owned;
  block.index = block_order_[num_begun_++];
  block.first_id = block.index * block_size_;
  block.number = NextNumber();
  block.ctaid = Unravel(block.index, grid_.num_blocks);
  block.ntid = grid_.num_threads;
  block.nctaid = grid_.num_blocks;
  block.dynamic_shared = grid_.dynamic_shared_bytes;
  block.num_threads = block_size_;
  block.run = this;
  block.races = &races_;
  block.num_live = block_size_;
  // All ones: a NaN.
  std::memset(block.shared, 0xff, block.shared_bytes);
  block.epoch = 1;
  block.barrier_epoch = 0;
  block.known = Clock();
  for (Barrier& barrier : block.barriers) barrier = Barrier();
  block.warps.assign((block_size_ + 31) / 32, Warp());
  block.order.resize(block_size_);
  for (uint32_t i = 0; i < block_size_; ++i) {
    Thread& thread = block.threads[i];
    thread = Thread();
    thread.tid = Unravel(i, grid_.num_threads);
    thread.index = i;
    thread.lane = i % 32;
    thread.id = block.first_id + i;
    thread.shape = &block;
    thread.block = &block;
    thread.warp = &block.warps[i / 32];
    thread.warp->live |= 1u << thread.lane;
    thread.shared_address = Address(block.shared);
    thread.state = ThreadState::kNew;
  }
  for (size_t i = 0; i < block.warps.size(); ++i) {
    block.warps[i].lanes = &block.threads[i * 32];
  }
  const std::vector<uint32_t> order =
      Arranged(block_size_, /*group=*/32, block.index + 1);
  for (uint32_t i = 0; i < block_size_; ++i) {
    block.order[i] = &block.threads[order[i]];
  }
  active_.push_back(std::move(owned));
}

void GridRun::Run() {
  running = this;
  int idle = 0;
  while (num_begun_ < num_blocks_ || !active_.empty()) {
    if (active_.empty()) Begin();
    const uint64_t before = progress_;
    bool can_run = false;
    for (size_t i = 0; i < active_.size();) {
      Block& block = *active_[i];
      do {
        Sweep(block);
      } while (!failed_ && ReleaseBarriers(block));
      if (failed_) return;
      if (block.num_live == 0) {
        unused_.push_back(std::move(active_[i]));
        active_.erase(active_.begin() + i);
        continue;
      }
      for (const Thread& thread : block.threads) {
        can_run = can_run || thread.state == ThreadState::kReady;
      }
      ++i;
    }
    if (active_.empty()) continue;
    // What is left waits, perhaps for a block that has not begun.
    if (num_begun_ < num_blocks_) {
      Begin();
    } else if (progress_ != before) {
      idle = 0;
    } else if (!can_run || ++idle > kMaxIdleSweeps) {
      FailDeadlock();
      return;
    }
  }
}

// Runs every thread until it waits, ends, or lets others run. Lanes that meet
// go on at once, while their stacks are in the cache.
void GridRun::Sweep(Block& block) {
  for (uint32_t first = 0; first < block_size_; first += 32) {
    do {
      lanes_met_ = false;
      next_ = block.order.data() + first;
      end_ = block.order.data() + std::min(first + 32, block_size_);
      if (Thread* const thread = Next()) SwitchTo(thread, &stack_pointer_);
      if (failed_) return;
    } while (lanes_met_);
  }
}

// The next thread of the sweep that can run, or null.
Thread* GridRun::Next() {
  while (next_ != end_) {
    Thread* const thread = *next_++;
    if (thread->state == ThreadState::kNew ||
        thread->state == ThreadState::kReady) {
      return thread;
    }
  }
  return nullptr;
}

// Goes on with a thread, or with the scheduler if it is null.
void GridRun::SwitchTo(Thread* thread, void** saved) {
  if (thread == nullptr) {
    ptx_switch(saved, stack_pointer_);
    return;
  }
  current_ = thread;
  if (thread->state == ThreadState::kNew) thread->fiber = NewFiber();
  thread->state = ThreadState::kReady;
  ptx_switch(saved, thread->fiber->stack_pointer);
}

// Runs threads one after the other, while the next one is new.
void GridRun::RunThreads() {
  Fiber* const fiber = current_->fiber;
  for (;;) {
    Thread& thread = *current_;
    thread.fiber = fiber;
    grid_.kernel->run(thread, parameters_.data());
    Finish(thread);
    if (next_ == end_ || (*next_)->state != ThreadState::kNew) Leave(fiber);
    current_ = *next_++;
    current_->state = ThreadState::kReady;
  }
}

void GridRun::Finish(Thread& thread) {
  thread.state = ThreadState::kDone;
  --thread.block->num_live;
  ++progress_;
  Warp& warp = *thread.warp;
  warp.live &= ~(1u << thread.lane);
  // Others may have waited for this one alone.
  ForLanes(warp.waiting,
           [&](int lane) { CompleteWarp(warp, warp.lanes[lane].mask); });
}

void GridRun::Park(Thread& thread) {
  SwitchTo(Next(), &thread.fiber->stack_pointer);
}

// Leaves a stack for good.
void GridRun::Leave(Fiber* fiber) {
  // A new thread may begin on this very stack, from its top.
  FreeFibers().push_back(fiber);
  SwitchTo(failed_ ? nullptr : Next(), &fiber->stack_pointer);
  std::abort();
}

// Barriers and warps.

bool GridRun::ReleaseBarriers(Block& block) {
  bool released = false;
  for (Barrier& barrier : block.barriers) {
    if (barrier.waiting.empty()) continue;
    const Thread& first = *barrier.waiting[0];
    const uint32_t count = first.barrier_count;
    if (barrier.waiting.size() + barrier.num_arrived <
        (count == 0 ? block.num_live : count)) {
      continue;
    }
    uint64_t yes = 0;
    for (const Thread* const thread : barrier.waiting) {
      yes += thread->operand;
      if (thread->barrier_count != count ||
          (count == 0 && thread->line != first.line)) {
        Fail(*thread, thread->line,
             "the threads of a block wait at different barriers: this one "
             "here, " +
                 NameThread(first.id) + " at " + NameLine(first.line));
        return false;
      }
    }
    if (races_.are_checked) NoteBarrier(block, barrier);
    for (Thread* const thread : barrier.waiting) {
      thread->state = ThreadState::kReady;
      thread->result = yes;
    }
    barrier.waiting.clear();
    barrier.num_arrived = 0;
    ++progress_;
    released = true;
  }
  return released;
}

bool GridRun::CompleteWarp(Warp& warp, uint32_t mask) {
  const uint32_t needed = mask & warp.live;
  if ((warp.waiting & needed) != needed || needed == 0) return false;
  const Thread& first = warp.lanes[__builtin_ctz(needed)];
  const WarpOperation operation = first.operation;
  bool agree = true;
  bool same = true;
  ForLanes(needed, [&](int lane) {
    const Thread& thread = warp.lanes[lane];
    agree = agree && thread.mask == mask && thread.operation == operation;
    same = same && thread.operand == first.operand;
  });
  if (!agree) return false;
  uint64_t all = 0;  // What all lanes get.
  if (operation == kSync) {
    if (races_.are_checked) NoteWarpSync(warp, needed);
  } else if (operation == kSame) {
    all = same ? needed : 0;
  } else if (operation >= kAdd) {
    all = first.operand;
    ForLanes(needed & (needed - 1), [&](int lane) {
      all = Combined(operation, all, warp.lanes[lane].operand);
    });
  }
  ForLanes(needed, [&](int lane) {
    Thread& thread = warp.lanes[lane];
    thread.result = all;
    if (operation == kMatch) {
      ForLanes(needed, [&](int other) {
        if (warp.lanes[other].operand == thread.operand) {
          thread.result |= 1u << other;
        }
      });
    } else if (operation >= kUp && operation <= kIdx) {
      const int from = ShuffledLane(thread);
      // What a lane outside the mask holds is undefined.
      thread.result =
          needed >> from & 1 ? warp.lanes[from].operand : 0xdeadbeef;
    }
    thread.state = ThreadState::kReady;
  });
  lanes_met_ = true;
  warp.waiting &= ~needed;
  ++progress_;
  return true;
}

// Errors.

std::string GridRun::NameThread(uint32_t id) const {
  return "thread " + NameIndex(id % block_size_, grid_.num_threads) +
         " of block " + NameBlock(id / block_size_);
}

std::string GridRun::NameBlock(uint32_t index) const {
  return NameIndex(index, grid_.num_blocks);
}

std::string GridRun::NameLine(int line) const {
  const std::vector<SourceLine>& lines = *grid_.kernel->lines;
  const auto after = std::upper_bound(
      lines.begin(), lines.end(), line,
      [](int of, const SourceLine& source) { return of < source.line; });
  const std::string name = "PTX line " + std::to_string(line);
  if (after == lines.begin()) return name;
  const SourceLine& source = *(after - 1);
  return std::string(source.file) + ":" + std::to_string(source.source_line) +
         " (" + name + ")";
}

void GridRun::Fail(const Thread& thread, int line, const std::string& message) {
  ReportFault(Demangled(grid_.kernel->name) + ", " + NameThread(thread.id) +
              ", " + NameLine(line) + ": " + message);
  failed_ = true;
}

void GridRun::FailDeadlock() {
  std::string message = Demangled(grid_.kernel->name) +
                        ": the threads wait for each other for ever:";
  int named = 0;
  for (const auto& block : active_) {
    for (const Thread& thread : block->threads) {
      if (thread.state == ThreadState::kDone || ++named > 4) continue;
      message += " " + NameThread(thread.id);
      if (thread.state == ThreadState::kAtBarrier) {
        message += " at the barrier of " + NameLine(thread.line) + ";";
      } else if (thread.state == ThreadState::kAtWarp) {
        char mask[16];
        std::snprintf(mask, sizeof(mask), "%08x", thread.mask);
        message += " for the lanes " + std::string(mask) + " of its warp at " +
                   NameLine(thread.line) + ";";
      } else {
        message += " for a value in memory;";
      }
    }
  }
  ReportFault(message + " ...");
  failed_ = true;
}

// What a thread does.

bool Thread::IsShared(uint64_t address) const {
  return address - shared_address < block->shared_bytes;
}

bool Thread::IsLocal(uint64_t address) const {
  return address - Address(fiber->stack) < kStackBytes;
}

uint8_t* Thread::Shared(uint64_t address, int size, Access access, int at_line,
                        uint32_t used) {
  if ((address & (size - 1)) != 0) FailAlignment(address, size, at_line);
  if (address + size > block->shared_bytes) {
    Fail(at_line, "accesses " + std::to_string(size) +
                      " bytes of shared memory at " + std::to_string(address) +
                      "; the block has " + std::to_string(block->shared_bytes));
  }
  NoteAccess(block->shadow[address / kShadowPageBytes],
             {*this, static_cast<uint32_t>(address % kShadowPageBytes), size,
              access, /*is_shared=*/true, at_line, used});
  return block->shared + address;
}

uint8_t* Thread::Global(uint64_t address, int size, Access access, int at_line,
                        uint32_t used) {
  if ((address & (size - 1)) != 0) FailAlignment(address, size, at_line);
  ShadowPage* const shadow = FindShadow(address, size);
  if (shadow != nullptr) {
    NoteAccess(*shadow,
               {*this, static_cast<uint32_t>(address % kShadowPageBytes), size,
                access, /*is_shared=*/false, at_line, used});
  } else if (access != kRead || !block->run->IsParameter(address, size)) {
    Fail(at_line, "accesses " + std::to_string(size) +
                      " bytes of global memory " + DescribeAddress(address));
  }
  return reinterpret_cast<uint8_t*>(address);
}

uint8_t* Thread::Generic(uint64_t address, int size, Access access, int at_line,
                         uint32_t used) {
  if (IsShared(address)) {
    return Shared(address - shared_address, size, access, at_line, used);
  }
  if (IsLocal(address)) {
    if ((address & (size - 1)) != 0) FailAlignment(address, size, at_line);
    return reinterpret_cast<uint8_t*>(address);
  }
  return Global(address, size, access, at_line, used);
}

void Thread::Yield() { block->run->Park(*this); }

uint64_t Thread::Clock() {
  static uint64_t now = 0;
  return now += 64;
}

uint32_t Thread::Barrier(uint32_t number, uint32_t count, bool predicate,
                         int at_line) {
  barrier_count = count;
  operand = predicate;
  line = at_line;
  state = ThreadState::kAtBarrier;
  block->barriers[number % 16].waiting.push_back(this);
  block->run->Park(*this);
  return static_cast<uint32_t>(result);
}

void Thread::Arrive(uint32_t number) {
  ptx::Barrier& barrier = block->barriers[number % 16];
  ++barrier.num_arrived;
  if (block->races->are_checked) NoteArrival(*this, barrier);
  block->run->CountProgress();
}

uint64_t Thread::Warp(WarpOperation what, uint64_t value, uint32_t lanes,
                      int at_line) {
  if ((lanes >> lane & 1) == 0) {
    Fail(at_line, "is not in the mask of its own warp's operation");
  }
  operation = what;
  operand = value;
  mask = lanes;
  line = at_line;
  state = ThreadState::kAtWarp;
  warp->waiting |= 1u << lane;
  if (!block->run->CompleteWarp(*warp, lanes)) block->run->Park(*this);
  return result;
}

uint32_t Thread::Shuffle(WarpOperation what, uint32_t value, uint32_t b,
                         uint32_t c, uint32_t lanes, int at_line) {
  shuffle_b = b;
  shuffle_c = c;
  return static_cast<uint32_t>(Warp(what, value, lanes, at_line));
}

void Thread::Exit() {
  block->run->Finish(*this);
  block->run->Leave(fiber);
}

void Thread::Fail(int at_line, const std::string& message) {
  block->run->Fail(*this, at_line, message);
  // The other threads stay where they are; their stacks are used anew.
  block->run->Leave(fiber);
}

void Thread::FailAlignment(uint64_t address, int size, int at_line) {
  char text[80];
  std::snprintf(text, sizeof(text),
                "accesses %d bytes at the unaligned address 0x%llx", size,
                static_cast<unsigned long long>(address));
  Fail(at_line, text);
}

void Thread::FailAssertion(int at_line, uint64_t message, uint64_t file,
                           uint64_t source_line) {
  const auto at = [](uint64_t parameter) {
    return reinterpret_cast<const uint8_t*>(parameter);
  };
  Fail(at_line, std::string("assertion failed: ") +
                    Get<const char*>(at(message), 0) + " at " +
                    Get<const char*>(at(file), 0) + ":" +
                    std::to_string(Get<uint32_t>(at(source_line), 0)));
}

}  // namespace ptx
