#include "tests/simulation/scheduler.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/entropy.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "glog/logging.h"

namespace ps::sim {

struct SimThread {
  enum class State { kRunnable, kBlocked, kDone, kFrozen };
  int id = 0;
  Process* process = nullptr;
  const char* name = "";
  State state = State::kRunnable;
  size_t place = 0;       // In runnable.
  int64_t deadline = -1;  // In timers; -1: none.
  const char* why = "";   // It is blocked.
  SimThread* joiner = nullptr;
  std::atomic<int> baton{0};
};

namespace {

// A Mutex or a CondVar, as long as somebody holds it or waits for it.
struct Lock {
  SimThread* owner = nullptr;
  std::vector<SimThread*> waiters;
};

struct World {
  Settings settings;
  RandomStream draws{0};
  int64_t now = 0;  // Nanoseconds.
  uint64_t digest = 0;
  int64_t ops = 0;
  std::vector<SimThread*> threads;
  std::vector<SimThread*> runnable;
  std::set<std::pair<int64_t, int>> timers;  // With the thread's number.
  std::unordered_map<const void*, Lock> mutexes;
  std::unordered_map<const void*, std::vector<SimThread*>> waiters;
  std::unordered_map<std::thread::id, SimThread*> by_id;
  std::vector<std::function<void(Process*)>> ended;
  std::function<void(Process*)> hook;
  int num_processes = 0;
  std::map<int, int> boots;  // By host.
};

World* world = nullptr;
thread_local SimThread* self = nullptr;

constexpr int64_t kOperation = 1000;  // Nanoseconds that one takes.

void Futex(std::atomic<int>* word, int operation, int value) {
  syscall(SYS_futex, reinterpret_cast<int*>(word), operation, value, nullptr,
          nullptr, 0);
}

void AwaitBaton() {
  while (self->baton.load() == 0) {
    Futex(&self->baton, FUTEX_WAIT_PRIVATE, 0);
  }
  self->baton.store(0);
}

void HandTo(SimThread* next) {
  next->baton.store(1);
  Futex(&next->baton, FUTEX_WAKE_PRIVATE, 1);
}

void MakeRunnable(SimThread* thread) {
  thread->state = SimThread::State::kRunnable;
  thread->place = world->runnable.size();
  world->runnable.push_back(thread);
  if (thread->deadline >= 0) {
    world->timers.erase({thread->deadline, thread->id});
    thread->deadline = -1;
  }
}

void TakeOut(SimThread* thread, SimThread::State state) {
  if (thread->state == SimThread::State::kRunnable) {
    SimThread* const last = world->runnable.back();
    world->runnable[thread->place] = last;
    last->place = thread->place;
    world->runnable.pop_back();
  }
  if (thread->deadline >= 0) {
    world->timers.erase({thread->deadline, thread->id});
    thread->deadline = -1;
  }
  thread->state = state;
}

void WakeDue() {
  while (!world->timers.empty() && world->timers.begin()->first <= world->now) {
    MakeRunnable(world->threads[world->timers.begin()->second]);
  }
}

SimThread* Pick() {
  if (world->runnable.empty()) {
    // The world itself always has a deadline.
    CHECK(!world->timers.empty());
    world->now = std::max(world->now, world->timers.begin()->first);
    WakeDue();
  }
  return world->runnable[world->draws.Below(world->runnable.size())];
}

// Lets others go on until this thread is picked.
void SwitchAway() {
  SimThread* const next = Pick();
  if (next == self) return;
  HandTo(next);
  AwaitBaton();
}

[[noreturn]] void FreezeSelf() {
  HandTo(Pick());
  for (;;) AwaitBaton();
}

void End(Process* process) {
  process->dead = true;
  for (SimThread* const thread : process->threads) {
    if (thread->state != SimThread::State::kDone) {
      TakeOut(thread, SimThread::State::kFrozen);
    }
  }
  for (const auto& ended : world->ended) ended(process);
}

SimThread* NewThread(Process* process, const char* name) {
  auto* const thread = new SimThread;
  thread->id = static_cast<int>(world->threads.size());
  thread->process = process;
  thread->name = name;
  world->threads.push_back(thread);
  if (process != nullptr) process->threads.push_back(thread);
  MakeRunnable(thread);
  return thread;
}

void RunThread(SimThread* thread, const std::function<void()>& work) {
  self = thread;
  AwaitBaton();
  work();
  if (thread->state == SimThread::State::kFrozen) FreezeSelf();
  TakeOut(thread, SimThread::State::kDone);
  if (thread->joiner != nullptr) Wake(thread->joiner);
  HandTo(Pick());
}

}  // namespace

void Begin(const Settings& settings) {
  world = new World;
  world->settings = settings;
  world->draws = RandomStream(RandomKey(settings.seed, 0x5c4ed));
  self = NewThread(nullptr, "world");
}

absl::Time Now() {
  return absl::UnixEpoch() + absl::Hours(1000) +
         absl::Nanoseconds(world == nullptr ? 0 : world->now);
}

uint64_t Digest() { return world->digest; }
int64_t NumOps() { return world->ops; }
RandomStream& Draws() { return world->draws; }
double Uniform(double low, double high) {
  return world->draws.Uniform(low, high);
}
bool Chance(double probability) {
  return probability > 0 && world->draws.Uniform() < probability;
}
int64_t Below(int64_t n) {
  return static_cast<int64_t>(world->draws.Below(static_cast<uint64_t>(n)));
}
Process* Current() { return self == nullptr ? nullptr : self->process; }
SimThread* Self() { return self; }

void Operate(Op op) {
  if (self == nullptr) return;
  Process* const process = self->process;
  ++world->ops;
  world->now += kOperation;
  world->digest = Mix64(world->digest ^ (static_cast<uint64_t>(self->id) << 8 |
                                         static_cast<uint64_t>(op)));
  if (process != nullptr) {
    if (op != Op::kLock) {
      if (process->ops == process->kill_at) {
        Trace("is killed at this operation");
        Kill(process);
      }
      ++process->ops;
    }
    if (world->hook != nullptr && !process->dead) world->hook(process);
    if (process->dead) FreezeSelf();
  }
  WakeDue();
  if (Chance(world->settings.switch_rate)) SwitchAway();
}

void Block(const char* why, absl::Time deadline) {
  self->why = why;
  TakeOut(self, SimThread::State::kBlocked);
  if (deadline != absl::InfiniteFuture()) {
    const absl::Duration left =
        absl::Ceil(deadline - Now(), absl::Nanoseconds(1));
    self->deadline =
        world->now + std::max<int64_t>(0, absl::ToInt64Nanoseconds(left));
    world->timers.emplace(self->deadline, self->id);
  }
  SwitchAway();
}

void Wake(SimThread* thread) {
  if (thread->state == SimThread::State::kBlocked) MakeRunnable(thread);
}

SimThread* StartThread(Process* process, const char* name,
                       std::function<void()> work) {
  SimThread* const thread = NewThread(process, name);
  std::thread([thread, work = std::move(work)] {
    RunThread(thread, work);
  }).detach();
  return thread;
}

Process* StartProcess(const std::string& name, int host,
                      std::function<int()> main) {
  auto* const process = new Process;
  process->name = name;
  process->number = world->num_processes++;
  process->host = host;
  StartThread(process, "main", [process, main = std::move(main)] {
    const int exit_code = main();
    if (process->dead) return;
    process->exit_code = exit_code;
    Trace(absl::StrCat("ends with exit code ", exit_code));
    End(process);
  });
  return process;
}

void Kill(Process* process) {
  if (!process->dead) End(process);
}

void Boot(int host) { ++world->boots[host]; }

void OnEnd(std::function<void(Process*)> ended) {
  world->ended.push_back(std::move(ended));
}

void OnOperation(std::function<void(Process*)> hook) {
  world->hook = std::move(hook);
}

bool Tracing() { return world != nullptr && world->settings.trace; }

void Trace(const std::string& line) {
  if (!Tracing()) return;
  const Process* const process = Current();
  std::fprintf(stderr, "%12.6f %-10s %-8s %s\n",
               static_cast<double>(world->now) * 1e-9,
               process == nullptr ? "world" : process->name.c_str(),
               self == nullptr ? "" : self->name, line.c_str());
}

std::string Waiters() {
  std::string lines;
  for (const SimThread* const thread : world->threads) {
    if (thread->process == nullptr || thread->process->dead ||
        thread->state != SimThread::State::kBlocked) {
      continue;
    }
    absl::StrAppend(
        &lines, "  ", thread->process->name, " ", thread->name, " waits for ",
        thread->why,
        thread->deadline < 0
            ? std::string()
            : absl::StrCat(", at most ", absl::FormatDuration(absl::Nanoseconds(
                                             thread->deadline - world->now))),
        "\n");
  }
  return lines;
}

}  // namespace ps::sim

// In place of those of common.
namespace ps {

using sim::self;
using sim::world;

namespace {

void Acquire(const void* mutex) {
  for (;;) {
    sim::Lock& lock = world->mutexes[mutex];
    if (lock.owner == nullptr) {
      lock.owner = self;
      return;
    }
    lock.waiters.push_back(self);
    sim::Block("a mutex");
  }
}

void Release(const void* mutex) {
  const auto found = world->mutexes.find(mutex);
  const std::vector<sim::SimThread*> waiters = std::move(found->second.waiters);
  world->mutexes.erase(found);
  for (sim::SimThread* const waiter : waiters) sim::Wake(waiter);
}

void WaitOn(const void* condition, const void* mutex, absl::Time deadline) {
  CHECK(self != nullptr);
  sim::Operate(sim::Op::kWait);
  world->waiters[condition].push_back(self);
  Release(mutex);
  sim::Block("a condition", deadline);
  const auto found = world->waiters.find(condition);
  if (found != world->waiters.end()) {
    std::vector<sim::SimThread*>& waiters = found->second;
    waiters.erase(std::remove(waiters.begin(), waiters.end(), self),
                  waiters.end());
    if (waiters.empty()) world->waiters.erase(found);
  }
  Acquire(mutex);
}

}  // namespace

void Mutex::Lock() {
  if (self == nullptr) return;
  sim::Operate(sim::Op::kLock);
  Acquire(this);
}

void Mutex::Unlock() {
  if (self != nullptr) Release(this);
}

void CondVar::Wait(Mutex* mu) { WaitOn(this, mu, absl::InfiniteFuture()); }

void CondVar::WaitFor(Mutex* mu, absl::Duration timeout) {
  WaitOn(this, mu, sim::Now() + std::min(timeout, absl::Hours(1)));
}

void CondVar::SignalAll() {
  if (self == nullptr) return;
  const auto found = world->waiters.find(this);
  if (found == world->waiters.end()) return;
  const std::vector<sim::SimThread*> waiters = std::move(found->second);
  world->waiters.erase(found);
  for (sim::SimThread* const waiter : waiters) sim::Wake(waiter);
}

Thread::Thread(const char* name, std::function<void()> work) {
  CHECK(self != nullptr);
  sim::Operate(sim::Op::kStart);
  sim::SimThread* const thread = sim::NewThread(self->process, name);
  thread_ = std::thread(
      [thread, work = std::move(work)] { sim::RunThread(thread, work); });
  world->by_id[thread_.get_id()] = thread;
}

void Thread::Join() {
  const auto found = world->by_id.find(thread_.get_id());
  sim::SimThread* const thread = found->second;
  world->by_id.erase(found);
  while (thread->state != sim::SimThread::State::kDone) {
    thread->joiner = self;
    sim::Block("the end of a thread");
  }
  thread_.join();
}

const Clock* SteadyClock() {
  class VirtualClock final : public Clock {
   public:
    absl::Time Now() const override { return sim::Now(); }
  };
  static const Clock* const clock = new VirtualClock;
  return clock;
}

uint64_t Entropy() { return sim::Draws().Next() | 1; }

std::string BootId() {
  const int host = sim::Current()->host;
  return absl::StrCat(host, "-", world->boots[host]);
}

}  // namespace ps
