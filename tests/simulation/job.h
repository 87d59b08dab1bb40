// One simulated job: its processes, what starts them again, what disturbs them,
// and what must hold.
#ifndef TESTS_SIMULATION_JOB_H_
#define TESTS_SIMULATION_JOB_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/kinds.h"

namespace ps::sim {

struct RunOptions {
  uint64_t seed = 0;
  std::string run_directory;  // Of worker 0; on a real disk.
  bool trace = false;
  bool faults = false;  // Drawn from the seed.
  // Operations of the undisturbed job, among which faults are drawn.
  int64_t operations = 0;
  // Kills by process at its operation of this number.
  std::map<int, int64_t> kill_at;
  // Of sessions: whether such a process is started again.
  bool starts_again = false;
  // With the first kill, this process goes as well; -1: none.
  int also = -1;
};

struct RunResult {
  std::string failure;  // Empty: all that was promised held.
  std::string bits;     // Of the final weights.
  std::string story;    // The faults that happened, in a line.
  uint64_t digest = 0;  // Of the schedule.
  int64_t operations = 0;
  // Of each process, in order: servers, then workers; without locks.
  std::vector<int64_t> by_process;
  double virtual_seconds = 0;
};

// Runs in this operating-system process, which must end afterwards: the threads
// of simulated processes that were killed stay. `expected_bits`: those of the
// undisturbed job; empty if there is none.
RunResult RunJob(const Job& job, const RunOptions& options,
                 const std::string& expected_bits);

}  // namespace ps::sim

#endif  // TESTS_SIMULATION_JOB_H_
