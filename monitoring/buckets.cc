#include "monitoring/buckets.h"

namespace ps {

std::vector<double> SecondsBuckets() {
  std::vector<double> buckets;
  for (double decade = 1e-5; decade < 50; decade *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      buckets.push_back(decade * factor);
    }
  }
  buckets.push_back(100);
  return buckets;
}

std::vector<double> UpdatesBuckets() {
  std::vector<double> buckets = {0};
  for (int updates = 1; updates <= 1024; updates *= 2) {
    buckets.push_back(updates);
  }
  return buckets;
}

}  // namespace ps
