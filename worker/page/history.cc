#include "worker/page/history.h"

namespace ps {

void History::Add(const HistoryPoint& point) {
  while (!points_.empty() && points_.back().iteration >= point.iteration) {
    points_.pop_back();
    num_added_ = stride_;
  }
  if (points_.empty() || num_added_ == stride_) {
    if (points_.size() == kMostPoints) {
      for (size_t i = 0; i < kMostPoints / 2; ++i) {
        const double loss = (points_[2 * i].loss + points_[2 * i + 1].loss) / 2;
        points_[i] = points_[2 * i + 1];
        points_[i].loss = loss;
      }
      points_.resize(kMostPoints / 2);
      stride_ *= 2;
    }
    points_.push_back(point);
    num_added_ = 1;
    return;
  }
  HistoryPoint& last = points_.back();
  const double loss = last.loss + (point.loss - last.loss) / ++num_added_;
  last = point;
  last.loss = loss;
}

}  // namespace ps
