#include "common/clock.h"

#include <chrono>

namespace ps {
namespace {

class SystemSteadyClock final : public Clock {
 public:
  absl::Time Now() const override {
    return absl::UnixEpoch() +
           absl::FromChrono(
               std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

const Clock* SteadyClock() {
  static const Clock* const clock = new SystemSteadyClock;
  return clock;
}

}  // namespace ps
