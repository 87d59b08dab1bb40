#include "common/entropy.h"

#include <fstream>
#include <random>

namespace ps {

uint64_t Entropy() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace ps
