// Lists of examples by a score, and how many of the wanted ones come first.
#ifndef TOOLS_INFLUENCE_RANKING_H_
#define TOOLS_INFLUENCE_RANKING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// The numbers of all examples, the highest score first; of equal ones, the
// lower number.
std::vector<int64_t> RankDescending(absl::Span<const double> scores);

// The numbers of the `count` examples with the highest scores above 0, and with
// the lowest below 0; of equal ones, the lower number. Fewer if there are no
// more.
std::vector<int64_t> Proponents(absl::Span<const double> influence,
                                int64_t count);
std::vector<int64_t> Opponents(absl::Span<const double> influence,
                               int64_t count);

// How well a ranking finds the wanted examples.
struct Recall {
  // The share of the wanted ones among the first 1, 5, 10, 20 and 30 % of the
  // ranking, whose length is rounded up.
  std::vector<double> at;
  // The area under the curve of the share found over the share inspected; 0.5
  // at random.
  double area = 0;
  double average_precision = 0;
};
inline constexpr double kRecallShares[] = {0.01, 0.05, 0.1, 0.2, 0.3};

// ranking: all examples, each once. wanted: whether each is wanted, by number;
// at least one is.
Recall MeasureRecall(const std::vector<int64_t>& ranking,
                     const std::vector<bool>& wanted);

// The area of the best ranking: 1 - (wanted share) / 2.
double BestArea(const std::vector<bool>& wanted);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_RANKING_H_
