#include "tools/launch/metrics_copy.h"

#include "absl/strings/match.h"

namespace ps {

void MetricsCopy::Take(absl::string_view line) {
  if (absl::StrContains(line, R"("event":"start")")) {
    file_.close();
    file_.clear();
    file_.open(path_, std::ios::trunc);
  } else if (!file_.is_open()) {
    file_.open(path_, std::ios::app);
  }
  file_.clear();
  file_ << line << '\n' << std::flush;
}

}  // namespace ps
