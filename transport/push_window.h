// Decides which of a worker's pushes to one server may be under way.
#ifndef TRANSPORT_PUSH_WINDOW_H_
#define TRANSPORT_PUSH_WINDOW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace ps {

// Keeps the pushes under way within a credit of bytes. Pushes are numbered in
// the order in which every worker of the job makes them. The lowest unanswered
// push is always under way, so there is always a push that all workers have
// sent. Since a server answers each push once all workers have sent it, nobody
// waits for ever, in whatever order the other pushes are sent. A push that is
// longer than the credit goes alone. Not thread-safe.
class PushWindow {
 public:
  explicit PushWindow(int64_t credit_bytes) : credit_bytes_(credit_bytes) {}

  // May be called only while nothing is under way.
  void set_credit_bytes(int64_t credit_bytes) { credit_bytes_ = credit_bytes; }

  // Adds a push that is to be sent; numbers must ascend. Of the pushes that may
  // go, those with higher `urgency` go first, then those with lower numbers.
  void Add(int64_t number, int64_t bytes, int urgency);

  // Returns the next push that may go, which counts as under way from now on;
  // nullopt if there is none.
  std::optional<int64_t> Next();

  // Removes a push that has been answered, or that is not to be sent any more.
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
  std::map<int64_t, Push> pushes_;  // Unanswered, by number.
  // Pushes not under way, most urgent first: (-urgency, number).
  std::map<std::pair<int, int64_t>, Push*> queued_;
  int64_t bytes_under_way_ = 0;
  // The longest push since there was none.
  int64_t longest_ = 0;
};

}  // namespace ps

#endif  // TRANSPORT_PUSH_WINDOW_H_
