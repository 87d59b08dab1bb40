// Numbers that nobody can foresee.
#ifndef COMMON_ENTROPY_H_
#define COMMON_ENTROPY_H_

#include <cstdint>
#include <string>

namespace ps {

// 64 random bits of the operating system. Everything else that is drawn is a
// function of a seed; this is for names of processes and files that must differ
// from all others. A simulation is linked in its place (tests/simulation).
// Thread-safe.
uint64_t Entropy();

// Names what has run since this machine was started; empty if it has no name
// for that. Thread-safe.
std::string BootId();

}  // namespace ps

#endif  // COMMON_ENTROPY_H_
