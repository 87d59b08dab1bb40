// The results of `gradsieve bench push-pull`, for people and for programs.
#ifndef TOOLS_BENCH_PUSH_PULL_REPORT_H_
#define TOOLS_BENCH_PUSH_PULL_REPORT_H_

#include <string>
#include <vector>

#include "tools/bench/push_pull/measurement.h"
#include "tools/bench/push_pull/options.h"

namespace ps {

struct Spread {
  double median = 0;  // The mean of the middle two if the number is even.
  double smallest = 0;
  double largest = 0;
};

// There must be at least one value.
Spread SpreadOf(std::vector<double> values);

// One line with the speeds of a round.
std::string PushPullRoundText(const PushPullRound& round);

// Speeds over the rounds, compared with those of plain TCP in the same round,
// and processor time. There must be at least one round, as for PushPullJson.
std::string PushPullText(const PushPullOptions& options,
                         const std::vector<PushPullRound>& rounds);

// The same as a JSON object.
std::string PushPullJson(const PushPullOptions& options,
                         const std::vector<PushPullRound>& rounds);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_REPORT_H_
