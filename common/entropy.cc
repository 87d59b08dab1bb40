#include "common/entropy.h"

#include <random>

namespace ps {

uint64_t Entropy() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace ps
