#include "tests/ptx/grid.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "tests/ptx/grid_run.h"
#include "tests/ptx/memory.h"
#include "tests/ptx/settings.h"

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
  size_t place = 0;  // Among those in use.
};

namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;

// Sweeps over all blocks in which nothing is written, no thread ends and no
// barrier opens: then the threads wait for each other.
constexpr int kMaxIdleSweeps = 100000;

std::vector<Fiber*>& FreeFibers() {
  static auto* const fibers = new std::vector<Fiber*>();
  return *fibers;
}

GridRun* running = nullptr;
Fiber* starting = nullptr;

uint32_t Product(const uint32_t* extents) {
  return extents[0] * extents[1] * extents[2];
}

void Unravel(uint32_t index, const uint32_t* extents, uint32_t* at) {
  at[0] = index % extents[0];
  at[1] = index / extents[0] % extents[1];
  at[2] = index / extents[0] / extents[1];
}

std::string NameIndex(uint32_t index, const uint32_t* extents) {
  uint32_t at[3];
  Unravel(index, extents, at);
  return "(" + std::to_string(at[0]) + ", " + std::to_string(at[1]) + ", " +
         std::to_string(at[2]) + ")";
}

// Numbers from 0 in the order that is set, in groups that stay together.
std::vector<uint32_t> Arranged(uint32_t count, uint32_t group, uint32_t salt) {
  std::vector<uint32_t> items(count);
  std::iota(items.begin(), items.end(), 0);
  if (CurrentOrder() == Order::kBackward) {
    std::reverse(items.begin(), items.end());
  } else if (CurrentOrder() == Order::kShuffled) {
    std::mt19937 random(ShuffleSeed() * 7919 + salt);
    if (group == 1 || count % group != 0) {
      std::shuffle(items.begin(), items.end(), random);
    } else {
      std::vector<uint32_t> groups =
          Arranged(count / group, /*group=*/1, salt + 1);
      for (uint32_t g = 0; g < groups.size(); ++g) {
        const auto begin = items.begin() + g * group;
        std::iota(begin, begin + group, groups[g] * group);
        std::shuffle(begin, begin + group, random);
      }
    }
  }
  return items;
}

// A number for a launch or a block.
uint32_t NextNumber() {
  static uint32_t number = 0;
  return ++number;
}

std::map<std::string, Kernel>& Kernels() {
  static auto* const kernels = new std::map<std::string, Kernel>();
  return *kernels;
}

// nvcc names the unnamed namespace of a file by hashes and at times by the
// number of its own process, which is not the same for the object and the PTX:
// the name without that number.
std::string WithoutProcess(std::string name) {
  static constexpr char kUnnamed[] = "_GLOBAL__N__";
  constexpr size_t kHash = 8;
  for (size_t at = name.find(kUnnamed); at != std::string::npos;
       at = name.find(kUnnamed, at + 1)) {
    // "54_GLOBAL__N__61baa556_15_step_kernels_cu_a885f55c_20171": the length of
    // the whole, a hash, the length of the file's name, the name, a hash.
    size_t digits = at;
    while (digits > 0 && std::isdigit(name[digits - 1])) --digits;
    const size_t file = at + sizeof(kUnnamed) - 1 + kHash + 1;
    if (file >= name.size()) continue;
    size_t length_digits = 0;
    const int file_length = std::atoi(name.c_str() + file);
    while (std::isdigit(name[file + length_digits])) ++length_digits;
    const size_t end = file + length_digits + 1 + file_length + 1 + kHash;
    for (; digits < at; ++digits) {
      const size_t length = std::atoi(name.substr(digits, at - digits).c_str());
      if (at + length >= end && at + length <= name.size()) break;
    }
    if (digits == at) continue;
    const size_t length = std::atoi(name.substr(digits, at - digits).c_str());
    name.replace(digits, at + length - digits, name.substr(at, end - at));
    at = digits;
  }
  return name;
}

}  // namespace

void RunFiber() { running->RunThreads(starting); }

void KernelRegistrar::Add(const Kernel& kernel) {
  Kernels().emplace(WithoutProcess(kernel.name), kernel);
}

const Kernel* FindKernel(const std::string& name) {
  const auto found = Kernels().find(WithoutProcess(name));
  return found == Kernels().end() ? nullptr : &found->second;
}

std::string Demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string demangled = text == nullptr ? name : text;
  std::free(text);
  return demangled;
}

void RunGrid(const Grid& grid) {
  GridRun run(grid);
  running = &run;
  run.Run();
  running = nullptr;
}

GridRun::GridRun(const Grid& grid)
    : grid_(grid),
      num_blocks_(Product(grid.num_blocks)),
      block_size_(Product(grid.num_threads)),
      checks_races_(RacesAreChecked()),
      launch_(NextNumber()),
      block_order_(Arranged(num_blocks_, /*group=*/1, /*salt=*/0)) {
  size_t offset = 0;
  for (int i = 0; i < grid.kernel->num_parameters; ++i) {
    parameters_.push_back(const_cast<uint8_t*>(grid.parameters.data()) +
                          offset);
    offset += (grid.kernel->parameter_bytes[i] + 15) / 16 * 16;
  }
}

GridRun::~GridRun() {
  for (Fiber* const fiber : fibers_) FreeFibers().push_back(fiber);
}

bool GridRun::IsParameter(uint64_t address, int size) const {
  const uint64_t begin = Address(grid_.parameters.data());
  return address >= begin && address + size <= begin + grid_.parameters.size();
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
  Unravel(block.index, grid_.num_blocks, block.ctaid);
  std::copy_n(grid_.num_threads, 3, block.ntid);
  std::copy_n(grid_.num_blocks, 3, block.nctaid);
  block.dynamic_shared = grid_.dynamic_shared_bytes;
  block.num_threads = block_size_;
  block.run = this;
  block.num_live = block_size_;
  std::fill_n(block.arrived, 16, 0);
  // All ones: a NaN.
  std::memset(block.shared, 0xff, block.shared_bytes);
  block.epoch = 1;
  block.barrier_epoch = 0;
  block.known = Clock();
  for (Clock& arrivals : block.arrivals) arrivals = Clock();
  block.warps.assign((block_size_ + 31) / 32, Warp());
  block.order.resize(block_size_);
  for (uint32_t i = 0; i < block_size_; ++i) {
    Thread& thread = block.threads[i];
    thread = Thread();
    Unravel(i, grid_.num_threads, thread.tid);
    thread.index = i;
    thread.lane = i % 32;
    thread.id = block.index * block_size_ + i;
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
  int idle = 0;
  while (!failed_ && (num_begun_ < num_blocks_ || !active_.empty())) {
    if (active_.empty()) Begin();
    const uint64_t before = progress_;
    bool can_run = false;
    for (size_t i = 0; i < active_.size() && !failed_;) {
      Block& block = *active_[i];
      do {
        Sweep(block);
      } while (!failed_ && ReleaseBarriers(block));
      if (failed_) return;
      if (block.num_live == 0) {
        unused_.push_back(std::move(active_[i]));
        active_.erase(active_.begin() + i);
      } else {
        can_run = can_run || CanRun(block);
        ++i;
      }
    }
    if (active_.empty()) continue;
    // What is left waits, perhaps for a block that has not begun.
    if (num_begun_ < num_blocks_) {
      Begin();
    } else if (progress_ != before) {
      idle = 0;
    } else if (!can_run || ++idle > kMaxIdleSweeps) {
      FailDeadlock();
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

bool GridRun::CanRun(const Block& block) const {
  return std::any_of(
      block.threads.begin(), block.threads.end(),
      [](const Thread& thread) { return thread.state == ThreadState::kReady; });
}

Fiber* GridRun::NewFiber() {
  Fiber* fiber = nullptr;
  if (FreeFibers().empty()) {
    void* const memory =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
      std::perror("ptx: a thread's stack");
      std::abort();
    }
    fiber = new Fiber();
    fiber->stack = static_cast<uint8_t*>(memory);
    // Not all at the same place of a page, lest they share a cache's lines.
    static size_t number = 0;
    fiber->top = reinterpret_cast<void**>(fiber->stack + kStackBytes -
                                          number++ % 61 * 1088);
  } else {
    fiber = FreeFibers().back();
    FreeFibers().pop_back();
  }
  fiber->place = fibers_.size();
  fibers_.push_back(fiber);
  return fiber;
}

// Goes on with a thread, or with the scheduler if it is null.
void GridRun::SwitchTo(Thread* thread, void** saved) {
  if (thread == nullptr) {
    ptx_switch(saved, stack_pointer_);
    return;
  }
  current_ = thread;
  if (thread->state == ThreadState::kNew) {
    thread->fiber = NewFiber();
    starting = thread->fiber;
    void** top = thread->fiber->top;
    *--top = nullptr;  // The return address, of which calls expect 16 n + 8.
    *--top = reinterpret_cast<void*>(RunFiber);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    thread->fiber->stack_pointer = top;
  }
  thread->state = ThreadState::kReady;
  ptx_switch(saved, thread->fiber->stack_pointer);
}

// Runs threads one after the other, while the next one is new.
void GridRun::RunThreads(Fiber* fiber) {
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
  for (int lane = 0; lane < 32; ++lane) {
    if (warp.waiting >> lane & 1) CompleteWarp(warp, warp.lanes[lane].mask);
  }
}

void GridRun::Park(Thread& thread) {
  SwitchTo(Next(), &thread.fiber->stack_pointer);
}

// Leaves a stack for good.
void GridRun::Leave(Fiber* fiber) {
  fibers_[fiber->place] = fibers_.back();
  fibers_[fiber->place]->place = fiber->place;
  fibers_.pop_back();
  // A new thread may begin on this very stack, from its top.
  FreeFibers().push_back(fiber);
  SwitchTo(failed_ ? nullptr : Next(), &fiber->stack_pointer);
  std::abort();
}

// Barriers and warps.

bool GridRun::ReleaseBarriers(Block& block) {
  bool released = false;
  waiting_.clear();
  for (Thread& thread : block.threads) {
    if (thread.state == ThreadState::kAtBarrier) waiting_.push_back(&thread);
  }
  if (waiting_.empty()) return false;
  const auto by_number = [](const Thread* a, const Thread* b) {
    return a->barrier < b->barrier;
  };
  if (!std::is_sorted(waiting_.begin(), waiting_.end(), by_number)) {
    std::stable_sort(waiting_.begin(), waiting_.end(), by_number);
  }
  for (auto begin = waiting_.begin(); begin != waiting_.end();) {
    const uint32_t number = (*begin)->barrier;
    const auto end = std::find_if(
        begin, waiting_.end(),
        [&](const Thread* thread) { return thread->barrier != number; });
    const std::vector<Thread*> waiting(begin, end);
    begin = end;
    uint32_t yes = 0;
    for (const Thread* const thread : waiting) yes += thread->predicate;
    const Thread& first = *waiting[0];
    const uint32_t count = first.barrier_count;
    const auto present =
        static_cast<uint32_t>(waiting.size()) + block.arrived[number];
    if (present < (count == 0 ? block.num_live : count)) continue;
    for (const Thread* const thread : waiting) {
      if (thread->barrier_count != count ||
          (count == 0 && thread->line != first.line)) {
        Fail(*thread, thread->line,
             "the threads of a block wait at different barriers: this one "
             "here, " +
                 NameThread(first.id) + " at " + NameLine(first.line));
        return false;
      }
    }
    if (checks_races_) NoteBarrier(block, number, waiting);
    block.arrived[number] = 0;
    for (Thread* const thread : waiting) {
      thread->state = ThreadState::kReady;
      thread->result = yes;
      thread->barrier_total = static_cast<uint32_t>(waiting.size());
    }
    ++progress_;
    released = true;
  }
  return released;
}

bool GridRun::CompleteWarp(Warp& warp, uint32_t mask) {
  const uint32_t needed = mask & warp.live;
  if ((warp.waiting & needed) != needed || needed == 0) return false;
  const Thread* first = nullptr;
  for (int lane = 0; lane < 32; ++lane) {
    if ((needed >> lane & 1) == 0) continue;
    const Thread& thread = warp.lanes[lane];
    if (first == nullptr) first = &thread;
    if (thread.mask != mask || thread.operation != first->operation) {
      return false;
    }
  }
  const WarpOperation operation = first->operation;
  const auto lanes = [&](auto visit) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (needed >> lane & 1) visit(warp.lanes[lane], lane);
    }
  };
  switch (operation) {
    case WarpOperation::kSync:
      if (checks_races_) NoteWarpSync(warp, needed);
      break;
    case WarpOperation::kUp:
    case WarpOperation::kDown:
    case WarpOperation::kBfly:
    case WarpOperation::kIdx:
      lanes([&](Thread& thread, uint32_t lane) {
        const uint32_t segment = thread.shuffle_c >> 8 & 31;
        const uint32_t clamp = thread.shuffle_c & 31;
        const uint32_t b = thread.shuffle_b & 31;
        const int last = (lane & segment) | (clamp & ~segment);
        int from = 0;
        switch (operation) {
          case WarpOperation::kUp:
            from = static_cast<int>(lane) - static_cast<int>(b);
            break;
          case WarpOperation::kDown:
            from = lane + b;
            break;
          case WarpOperation::kBfly:
            from = lane ^ b;
            break;
          default:
            from = (lane & segment) | (b & ~segment);
        }
        thread.valid =
            operation == WarpOperation::kUp ? from >= last : from <= last;
        if (!thread.valid) from = lane;
        // What a lane outside the mask holds is undefined.
        thread.result =
            needed >> from & 1 ? warp.lanes[from].operand : 0xdeadbeef;
      });
      break;
    case WarpOperation::kMatchAny:
      lanes([&](Thread& thread, uint32_t) {
        thread.result = 0;
        lanes([&](const Thread& other, uint32_t lane) {
          if (other.operand == thread.operand) thread.result |= 1u << lane;
        });
      });
      break;
    default: {
      // Operations whose result is the same for all.
      uint64_t any = 0;
      uint64_t every = ~uint64_t{0};
      uint64_t ballot = 0;
      uint64_t sum = 0;
      uint64_t exclusive = 0;
      uint64_t least = ~uint64_t{0};
      uint64_t greatest = 0;
      int64_t signed_least = INT64_MAX;
      int64_t signed_greatest = INT64_MIN;
      lanes([&](const Thread& thread, uint32_t lane) {
        const uint64_t x = thread.operand;
        any |= x, every &= x, sum += x, exclusive ^= x;
        ballot |= uint64_t{x != 0} << lane;
        least = std::min(least, x), greatest = std::max(greatest, x);
        const int64_t s = static_cast<int32_t>(x);
        signed_least = std::min(signed_least, s);
        signed_greatest = std::max(signed_greatest, s);
      });
      const uint64_t all =
          operation == WarpOperation::kAll   ? ballot == needed
          : operation == WarpOperation::kAny ? ballot != 0
          : operation == WarpOperation::kUni ? ballot == 0 || ballot == needed
          : operation == WarpOperation::kBallot ? ballot
          : operation == WarpOperation::kMatchAll
              ? least == greatest ? needed : 0
          : operation == WarpOperation::kAdd ? sum
          : operation == WarpOperation::kMin ? least
          : operation == WarpOperation::kMax ? greatest
          : operation == WarpOperation::kSignedMin
              ? static_cast<uint64_t>(signed_least)
          : operation == WarpOperation::kSignedMax
              ? static_cast<uint64_t>(signed_greatest)
          : operation == WarpOperation::kAnd ? every
          : operation == WarpOperation::kOr  ? any
          : operation == WarpOperation::kXor
              ? exclusive
              : static_cast<uint64_t>(__builtin_ctz(needed));  // kElect.
      lanes([&](Thread& thread, uint32_t) { thread.result = all; });
    }
  }
  lanes([](Thread& thread, uint32_t) { thread.state = ThreadState::kReady; });
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
  const Kernel& kernel = *grid_.kernel;
  const SourceLine* const end = kernel.lines + kernel.num_lines;
  const SourceLine* after = std::upper_bound(
      kernel.lines, end, line,
      [](int of, const SourceLine& source) { return of < source.line; });
  std::string name = "PTX line " + std::to_string(line);
  if (after == kernel.lines) return name;
  --after;
  for (int i = 0; i < kernel.num_files; ++i) {
    if (kernel.files[i].number == after->file && kernel.files[i].path) {
      const std::string path = kernel.files[i].path;
      return path.substr(path.rfind('/') + 1) + ":" +
             std::to_string(after->source_line) + " (" + name + ")";
    }
  }
  return name;
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
  if (address % size != 0) FailAlignment(address, size, at_line);
  if (address + size > block->shared_bytes) {
    Fail(at_line, "accesses " + std::to_string(size) +
                      " bytes of shared memory at " + std::to_string(address) +
                      "; the block has " + std::to_string(block->shared_bytes));
  }
  if (block->run->checks_races()) {
    NoteAccess(*this, block->shadow[address / kShadowPageBytes], block->number,
               address % kShadowPageBytes, size, access,
               /*is_shared=*/true, at_line, used);
  }
  if (access == kWrite) block->run->CountProgress();
  return block->shared + address;
}

uint8_t* Thread::Global(uint64_t address, int size, Access access, int at_line,
                        uint32_t used) {
  if (address % size != 0) FailAlignment(address, size, at_line);
  ShadowPage* const shadow = FindShadow(address, size);
  if (shadow == nullptr) {
    if (access == kRead && block->run->IsParameter(address, size)) {
      return reinterpret_cast<uint8_t*>(address);
    }
    Fail(at_line, "accesses " + std::to_string(size) +
                      " bytes of global memory " + DescribeAddress(address));
  }
  if (block->run->checks_races()) {
    NoteAccess(*this, *shadow, block->run->launch(), address % kShadowPageBytes,
               size, access, /*is_shared=*/false, at_line, used);
  }
  if (access == kWrite) block->run->CountProgress();
  return reinterpret_cast<uint8_t*>(address);
}

uint8_t* Thread::Generic(uint64_t address, int size, Access access, int at_line,
                         uint32_t used) {
  if (IsShared(address)) {
    return Shared(address - shared_address, size, access, at_line, used);
  }
  if (IsLocal(address)) {
    if (address % size != 0) FailAlignment(address, size, at_line);
    return reinterpret_cast<uint8_t*>(address);
  }
  return Global(address, size, access, at_line, used);
}

void Thread::Yield() { block->run->Park(*this); }

uint64_t Thread::Clock() {
  static uint64_t now = 0;
  return now += 64;
}

uint32_t Thread::Barrier(uint32_t number, uint32_t count, bool holds,
                         int at_line) {
  barrier = number % 16;
  barrier_count = count;
  predicate = holds;
  line = at_line;
  state = ThreadState::kAtBarrier;
  block->run->Park(*this);
  return static_cast<uint32_t>(result);
}

void Thread::Arrive(uint32_t number, uint32_t, int) {
  ++block->arrived[number % 16];
  if (block->run->checks_races()) NoteArrival(*this, number % 16);
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

void Thread::WarpSync(uint32_t lanes, int at_line) {
  Warp(WarpOperation::kSync, 0, lanes, at_line);
}

uint32_t Thread::Shuffle(WarpOperation what, uint32_t value, uint32_t b,
                         uint32_t c, uint32_t lanes, bool* is_valid,
                         int at_line) {
  shuffle_b = b;
  shuffle_c = c;
  const auto shuffled =
      static_cast<uint32_t>(Warp(what, value, lanes, at_line));
  *is_valid = valid;
  return shuffled;
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
  const auto text = [](uint64_t parameter) {
    return std::string(
        Get<const char*>(reinterpret_cast<const uint8_t*>(parameter), 0));
  };
  Fail(at_line, "assertion failed: " + text(message) + " at " + text(file) +
                    ":" +
                    std::to_string(Get<uint32_t>(
                        reinterpret_cast<const uint8_t*>(source_line), 0)));
}

}  // namespace ptx
