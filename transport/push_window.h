// Decides which of a worker's pushes to one server may be sent.
#ifndef TRANSPORT_PUSH_WINDOW_H_
#define TRANSPORT_PUSH_WINDOW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace ps {

// Keeps the pushes in flight within a limit of bytes. Pushes are numbered in
// the order in which every worker of the job makes them. The lowest unanswered
// push is always in flight, so there is always a push that all workers have
// sent. Since a server answers each push once all workers have sent it, there
// is no deadlock, in whatever order the other pushes are sent. A push that is
// longer than the limit goes alone.
//
// A worker that sends far ahead of the others takes the server's link from
// those for whose pushes the server waits, and the way back idles meanwhile. So
// the limit is what the server has lately answered in twice the least time that
// an answer has taken: enough to fill the link, and little more. It doubles in
// that time as long as answers come no later, up to the credit.
//
// Not thread-safe.
class PushWindow {
 public:
  explicit PushWindow(int64_t credit_bytes) : credit_bytes_(credit_bytes) {}

  // Sets the credit, only while nothing is in flight. All of it may always be
  // used if the server answers no push before it `needs_whole_iterations`.
  void SetCredit(int64_t credit_bytes, bool needs_whole_iterations);

  // Adds a push; numbers must ascend. Of the pushes that may go, those with
  // higher `urgency` go first, then those with lower numbers.
  void Add(int64_t number, int64_t bytes, int urgency);

  // Returns the next push that may go, which counts as in flight from now on;
  // nullopt if there is none.
  std::optional<int64_t> Next(absl::Time now);

  // Removes a push that has been answered, or that need not be sent any more.
  void Answered(int64_t number, absl::Time now);

  int64_t bytes_under_way() const { return bytes_under_way_; }

 private:
  struct Push {
    int64_t bytes = 0;
    int urgency = 0;
    bool under_way = false;
    absl::Time start;
  };

  void Start(Push* push, absl::Time now);
  // Notes that `bytes` were answered after `latency`.
  void Note(int64_t bytes, absl::Duration latency, absl::Time now);
  int64_t Limit() const;

  int64_t credit_bytes_;
  bool needs_whole_iterations_ = false;
  std::map<int64_t, Push> pushes_;  // The unanswered pushes by number.
  // The pushes not in flight, most urgent first: (-urgency, number).
  std::map<std::pair<int, int64_t>, Push*> queued_;
  int64_t bytes_under_way_ = 0;
  // The longest push since there was none.
  int64_t longest_ = 0;

  absl::Duration least_latency_ = absl::InfiniteDuration();
  // The bytes answered in the interval that began then, and the most in any
  // interval of this period and the one before.
  absl::Time interval_start_ = absl::InfinitePast();
  int64_t answered_bytes_ = 0;
  absl::Time period_end_ = absl::InfinitePast();
  int64_t most_answered_ = 0;
  int64_t most_answered_before_ = 0;
};

}  // namespace ps

#endif  // TRANSPORT_PUSH_WINDOW_H_
