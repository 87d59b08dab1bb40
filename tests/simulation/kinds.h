// The jobs that are simulated.
#ifndef TESTS_SIMULATION_KINDS_H_
#define TESTS_SIMULATION_KINDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/config.pb.h"

namespace ps::sim {

struct Job {
  std::string name;
  uint64_t number = 0;  // The seed of the undisturbed run.
  JobConfig config;
  // Whether it must end with the bits of the undisturbed job.
  bool same_bits = false;
  // The number of pushes of each worker, where workers are sessions of the
  // bridge (rank.h), which keep no snapshots. 0: the workers are Gradsieve's
  // own.
  int64_t session_pushes = 0;
  int early_rank = -1;  // A program that makes only half as many; -1: none.
};

// Of the kinds that recovery treats differently: "momentum", "delta",
// "clip_norm", "scalecom", "asynchronous"; and of those of sessions, whose
// names begin with "session_".
const std::vector<std::string>& JobKinds();
Job JobOf(const std::string& kind);
// Drawn from everything that a job of Gradsieve's own workers can be.
Job DrawJob(uint64_t seed);
// The same for sessions.
Job DrawSessionJob(uint64_t seed);

}  // namespace ps::sim

#endif  // TESTS_SIMULATION_KINDS_H_
