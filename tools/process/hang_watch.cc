#include "tools/process/hang_watch.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ps {
namespace {

constexpr absl::string_view kWaits = "] waiting for ";
// Processes that wait say so every 10 s.
constexpr absl::Duration kRecent = absl::Minutes(1);

}  // namespace

void HangWatch::Heard(const std::string& process, absl::string_view line,
                      absl::Time now) {
  const size_t begin = line.find(kWaits);
  if (begin == absl::string_view::npos) return;
  waits_[process] = {std::string(line.substr(begin + kWaits.size())), now};
}

std::string HangWatch::Hang(int64_t iteration, bool all_run, absl::Time now) {
  if (!all_run || iteration != iteration_) {
    iteration_ = iteration;
    since_ = now;
  }
  if (patience_ == absl::ZeroDuration() || now - since_ < patience_) return "";
  std::vector<std::string> texts;
  for (const auto& [process, wait] : waits_) {
    if (now - wait.said > kRecent) continue;
    texts.push_back(absl::StrCat(process, " waits for ", wait.for_whom));
  }
  return absl::StrJoin(texts, "; ");
}

}  // namespace ps
