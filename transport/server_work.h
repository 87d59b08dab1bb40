// The time that a server reports for its work on a push.
#ifndef TRANSPORT_SERVER_WORK_H_
#define TRANSPORT_SERVER_WORK_H_

namespace ps {

// Seconds of work on one update of a slice, for all workers together.
struct UpdatePhases {
  double sum = 0;
  double optimizer = 0;
  double encode = 0;

  double total() const { return sum + optimizer + encode; }
  UpdatePhases& operator+=(const UpdatePhases& other) {
    sum += other.sum;
    optimizer += other.optimizer;
    encode += other.encode;
    return *this;
  }
};

// The time that a server spent on a push. Seconds.
struct ServerWork {
  double held = 0;  // From the push's arrival to the answer.
  double wait = 0;  // Part of `held`: waiting for other workers' pushes.
  UpdatePhases update;
};

}  // namespace ps

#endif  // TRANSPORT_SERVER_WORK_H_
