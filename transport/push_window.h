// Which of a worker's pushes to one server may be under way.
#ifndef TRANSPORT_PUSH_WINDOW_H_
#define TRANSPORT_PUSH_WINDOW_H_

#include <cstdint>
#include <map>
#include <optional>

namespace ps {

// Keeps what is under way within a credit of bytes. Pushes have numbers, in the
// order in which every worker of the job makes them. The lowest unanswered one
// is always under way: so there is always a push that all workers have sent,
// and nobody waits for ever, whatever order the others are sent in, if the
// server answers each push once all workers have sent it. One that is longer
// than the credit goes alone. Not thread-safe.
class PushWindow {
 public:
  explicit PushWindow(int64_t credit_bytes) : credit_bytes_(credit_bytes) {}

  // While nothing is under way.
  void set_credit_bytes(int64_t credit_bytes) { credit_bytes_ = credit_bytes; }

  // A push that is to be sent. Numbers ascend. Of those that may go, a higher
  // `urgency` goes first, then a lower number.
  void Add(int64_t number, int64_t bytes, int urgency);

  // The next one that may go; it counts as under way from now on.
  std::optional<int64_t> Next();

  // An answer has come. A push that was not under way is forgotten.
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
  // Those not under way, most urgent first: (-urgency, number).
  std::map<std::pair<int, int64_t>, Push*> queued_;
  int64_t bytes_under_way_ = 0;
  int64_t longest_ = 0;  // Of all so far.
};

}  // namespace ps

#endif  // TRANSPORT_PUSH_WINDOW_H_
