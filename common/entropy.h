// Random numbers and identifiers that are unpredictable.
#ifndef COMMON_ENTROPY_H_
#define COMMON_ENTROPY_H_

#include <cstdint>
#include <string>

namespace ps {

// Returns 64 random bits of the operating system, for names of processes and
// files that must differ from all others; every other random number is a
// function of a seed. A simulation is linked in its place (tests/simulation).
// Thread-safe.
uint64_t Entropy();

// Returns an identifier of the machine's current boot; empty if the system has
// none. Thread-safe.
std::string BootId();

}  // namespace ps

#endif  // COMMON_ENTROPY_H_
