#include "tools/report/exchange_times.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ps {

double ExchangeTimes::HiddenShare() const {
  // The clamp is needed because the two times are read at slightly different
  // moments.
  return std::clamp(1 - await / communication, 0.0, 1.0);
}

ExchangeTimes MeasureExchange(const RunRecords& run) {
  ExchangeTimes sum;
  const std::pair<const char*, double ExchangeTimes::*> parts[] = {
      {"compute", &ExchangeTimes::compute},
      {"compress", &ExchangeTimes::compress},
      {"apply", &ExchangeTimes::apply},
      {"await", &ExchangeTimes::await},
      {"overlapped", &ExchangeTimes::overlapped},
      {"communication", &ExchangeTimes::communication},
  };
  double iterations = 0;
  for (const IterationRow& row : run.iterations) {
    if (row.phases.empty()) continue;
    ++iterations;
    for (const auto& [name, part] : parts) {
      for (const auto& phase : row.phases) {
        if (phase.first == name) sum.*part += phase.second;
      }
    }
  }
  ExchangeTimes mean;
  for (const auto& each : parts) {
    const auto part = each.second;
    mean.*part = sum.*part / iterations;  // NaN if there are none.
  }
  mean.iteration =
      mean.compute + mean.compress + mean.apply + mean.await - mean.overlapped;
  return mean;
}

}  // namespace ps
