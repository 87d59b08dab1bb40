// Counter-based random numbers: a draw is a pure function of (key, counter), so
// that results depend neither on threads nor on the order of calls. The integer
// functions also run in device code.
#ifndef COMMON_RANDOM_H_
#define COMMON_RANDOM_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"

namespace ps {

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014; constants by Stafford, mix 13):
// a bijection of 64-bit words in which every input bit moves every output bit.
PS_HOST_DEVICE inline uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Combines several parts into a key for one purpose: RandomKey(seed, epoch).
PS_HOST_DEVICE inline uint64_t RandomKey(uint64_t part) { return Mix64(part); }
template <typename... Parts>
PS_HOST_DEVICE uint64_t RandomKey(uint64_t part, Parts... parts) {
  return Mix64(part ^ (RandomKey(parts...) * 0xd1342543de82ef95u));
}

// A stream of draws under one key. Copies continue independently.
class RandomStream {
 public:
  // The first draw is number `counter` of the key.
  PS_HOST_DEVICE explicit RandomStream(uint64_t key, uint64_t counter = 0)
      : key_(key), counter_(counter) {}

  // Returns a word that is uniform over all 64-bit words.
  PS_HOST_DEVICE uint64_t Next() { return Mix64(key_ ^ Mix64(counter_++)); }

  // Returns a number that is uniform in [0, 1), with 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  double Uniform(double low, double high) {
    return low + (high - low) * Uniform();
  }

  // Returns a number that is uniform in [0, n), without bias; n at least 1.
  uint64_t Below(uint64_t n) {
    uint64_t x = 0;
    while (!TryBelow(n, &x)) {
    }
    return x;
  }

  // Makes one attempt of Below; returns false if the draw is rejected.
  PS_HOST_DEVICE bool TryBelow(uint64_t n, uint64_t* result) {
    const uint64_t x = Next();
    *result = x % n;
    // Draws under the remainder of 2^64 / n would favour small results.
    return x >= (0 - n) % n;
  }

  // Returns a standard normal (Box and Muller, Ann. Math. Statist. 1958).
  double Normal() {
    const double u = 1.0 - Uniform();  // In (0, 1]: the logarithm is finite.
    return std::sqrt(-2.0 * std::log(u)) *
           std::cos(6.283185307179586 * Uniform());
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace ps

#endif  // COMMON_RANDOM_H_
