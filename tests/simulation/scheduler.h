// Runs the threads of many simulated processes one at a time.
//
// common/mutex.h, common/thread.h, common/clock.h and common/entropy.h are
// linked from scheduler.cc in place of their own. A thread keeps the processor,
// the *baton*, until it waits, or until an operation (a lock, a wait, a file, a
// message) at which the seed says that another one goes on. Time is virtual and
// moves to the next deadline when all wait. So a run is a function of its seed.
#ifndef TESTS_SIMULATION_SCHEDULER_H_
#define TESTS_SIMULATION_SCHEDULER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/random.h"

namespace ps::sim {

enum class Op { kLock, kWait, kStart, kFile, kMessage };

struct SimThread;

// A simulated process: a group of threads. Never deleted, nor is anything that
// its threads own: kill -9 only stops them.
struct Process {
  std::string name;  // "server-0".
  int number = 0;    // Counts all processes.
  int host = 0;
  bool dead = false;
  int exit_code = -1;  // Of one that has ended by itself.
  int64_t ops = 0;     // Operations so far, of these kinds that are counted.
  int64_t kill_at = -1;
  // SIGTERM: `asked` once it has something to save, else it ends at once.
  bool handles_sigterm = false;
  std::atomic<bool> asked{false};
  std::vector<SimThread*> threads;
  // What the network has for its threads.
  std::deque<std::function<void()>> inbox;
  std::vector<SimThread*> net_threads;
  int net_busy = 0;
};

// Everything below is for the thread that has the baton.

struct Settings {
  uint64_t seed = 0;
  double switch_rate = 0.05;  // Of operations.
  bool trace = false;
};

// Makes this thread the first, "world", which watches all others.
void Begin(const Settings& settings);

absl::Time Now();
uint64_t Digest();  // Of the schedule so far.
int64_t NumOps();
RandomStream& Draws();
double Uniform(double low, double high);
bool Chance(double probability);
int64_t Below(int64_t n);

// The process of this thread; null for the world.
Process* Current();

// An operation of this thread: another one may go on, and this thread's process
// may be killed.
void Operate(Op op);

// Waits until Wake, or until this time.
void Block(const char* why, absl::Time deadline = absl::InfiniteFuture());
SimThread* Self();
void Wake(SimThread* thread);

// `main` returns an exit code.
Process* StartProcess(const std::string& name, int host,
                      std::function<int()> main);
// A thread of a process that nobody joins; null: of the world.
SimThread* StartThread(Process* process, const char* name,
                       std::function<void()> work);
// kill -9. If it is the caller's own process, the caller's next operation is
// the last.
void Kill(Process* process);
// The machine is started anew.
void Boot(int host);
// Called when a process has ended or was killed, by whichever thread did it.
void OnEnd(std::function<void(Process*)> ended);
// Called at each operation of a process, before it is made.
void OnOperation(std::function<void(Process*)> hook);

// One line of the story, with the time and the process; formats nothing unless
// the run is traced.
bool Tracing();
void Trace(const std::string& line);

// Who waits for what, one line for each thread of a live process.
std::string Waiters();

}  // namespace ps::sim

#endif  // TESTS_SIMULATION_SCHEDULER_H_
