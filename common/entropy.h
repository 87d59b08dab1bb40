// Numbers that nobody can foresee.
#ifndef COMMON_ENTROPY_H_
#define COMMON_ENTROPY_H_

#include <cstdint>

namespace ps {

// 64 random bits of the operating system. Everything else that is drawn is a
// function of a seed; this is for names of processes and files that must differ
// from all others. A simulation is linked in its place (tests/simulation).
// Thread-safe.
uint64_t Entropy();

}  // namespace ps

#endif  // COMMON_ENTROPY_H_
