#include "tools/influence/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ps {
namespace {

// The numbers of the scores of which `is_in` holds, sorted; at most `count`.
template <typename IsIn, typename Before>
std::vector<int64_t> First(absl::Span<const double> scores, int64_t count,
                           const IsIn& is_in, const Before& before) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (is_in(scores[i])) order.push_back(static_cast<int64_t>(i));
  }
  count = std::min(count, static_cast<int64_t>(order.size()));
  std::partial_sort(
      order.begin(), order.begin() + count, order.end(),
      [&](int64_t a, int64_t b) {
        return scores[a] != scores[b] ? before(scores[a], scores[b]) : a < b;
      });
  order.resize(count);
  return order;
}

double NumWanted(const std::vector<bool>& wanted) {
  return static_cast<double>(std::count(wanted.begin(), wanted.end(), true));
}

}  // namespace

std::vector<int64_t> RankDescending(absl::Span<const double> scores) {
  return First(
      scores, static_cast<int64_t>(scores.size()), [](double) { return true; },
      [](double a, double b) { return a > b; });
}

std::vector<int64_t> Proponents(absl::Span<const double> influence,
                                int64_t count) {
  return First(
      influence, count, [](double score) { return score > 0; },
      [](double a, double b) { return a > b; });
}

std::vector<int64_t> Opponents(absl::Span<const double> influence,
                               int64_t count) {
  return First(
      influence, count, [](double score) { return score < 0; },
      [](double a, double b) { return a < b; });
}

Recall MeasureRecall(const std::vector<int64_t>& ranking,
                     const std::vector<bool>& wanted) {
  const auto n = static_cast<double>(ranking.size());
  const double total = NumWanted(wanted);
  Recall recall;
  double found = 0;
  std::vector<double> found_after = {0};
  for (size_t i = 0; i < ranking.size(); ++i) {
    if (wanted[ranking[i]]) {
      found += 1;
      recall.average_precision += found / (i + 1.0) / total;
    }
    // Trapezia between the points of the curve.
    recall.area += (found_after.back() + found) / 2 / total / n;
    found_after.push_back(found);
  }
  for (const double share : kRecallShares) {
    // Rounded up, but not because 0.1 is a little more than a tenth.
    const auto inspected = static_cast<size_t>(std::ceil(share * n - 1e-9));
    recall.at.push_back(found_after[inspected] / total);
  }
  return recall;
}

double BestArea(const std::vector<bool>& wanted) {
  return 1 - NumWanted(wanted) / static_cast<double>(wanted.size()) / 2;
}

}  // namespace ps
