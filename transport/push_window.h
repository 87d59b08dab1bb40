// Decides which of a worker's pushes to one server may be sent.
#ifndef TRANSPORT_PUSH_WINDOW_H_
#define TRANSPORT_PUSH_WINDOW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace ps {

// Keeps the pushes in flight within a credit of bytes. Pushes are numbered in
// the order in which every worker of the job makes them. The lowest unanswered
// push is always in flight, so there is always a push that all workers have
// sent. Since a server answers each push once all workers have sent it, there
// is no deadlock, in whatever order the other pushes are sent. A push that is
// longer than the credit goes alone. Not thread-safe.
class PushWindow {
 public:
  explicit PushWindow(int64_t credit_bytes) : credit_bytes_(credit_bytes) {}

  // Sets the credit, only while nothing is in flight.
  void set_credit_bytes(int64_t credit_bytes) { credit_bytes_ = credit_bytes; }

  // Adds a push; numbers must ascend. Of the pushes that may go, those with
  // higher `urgency` go first, then those with lower numbers.
  void Add(int64_t number, int64_t bytes, int urgency);

  // Returns the next push that may go, which counts as in flight from now on;
  // nullopt if there is none.
  std::optional<int64_t> Next();

  // Removes a push that has been answered, or that need not be sent any more.
  void Answered(int64_t number);

  int64_t bytes_under_way() const { return bytes_under_way_; }

 private:
  struct Push {
    int64_t bytes = 0;
    int urgency = 0;
    bool under_way = false;
  };

  void Start(Push* push);

  int64_t credit_bytes_;
  std::map<int64_t, Push> pushes_;  // The unanswered pushes by number.
  // The pushes not in flight, most urgent first: (-urgency, number).
  std::map<std::pair<int, int64_t>, Push*> queued_;
  int64_t bytes_under_way_ = 0;
  // The longest push since there was none.
  int64_t longest_ = 0;
};

}  // namespace ps

#endif  // TRANSPORT_PUSH_WINDOW_H_
