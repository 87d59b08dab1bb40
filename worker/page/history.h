// Keeps the course of a training in few points.
#ifndef WORKER_PAGE_HISTORY_H_
#define WORKER_PAGE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ps {

// The state after one iteration, or after the last of several.
struct HistoryPoint {
  int64_t iteration = 0;
  double loss = 0;     // The mean of these iterations.
  double seconds = 0;  // Since the start, as the following.
  double samples = 0;
  double bytes_up = 0;
  double bytes_down = 0;
};

// The history. Not thread-safe.
class History {
 public:
  static constexpr size_t kMostPoints = 800;

  // Adds a point. Removes points of this and later iterations: the training may
  // have gone back. When there are kMostPoints points, each two neighbours
  // become one.
  void Add(const HistoryPoint& point);

  const std::vector<HistoryPoint>& points() const { return points_; }

 private:
  std::vector<HistoryPoint> points_;
  int stride_ = 1;     // The number of additions for each point.
  int num_added_ = 0;  // The number of points added to the last one.
};

}  // namespace ps

#endif  // WORKER_PAGE_HISTORY_H_
