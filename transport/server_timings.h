// Defines the times of a server while it holds a push.
#ifndef TRANSPORT_SERVER_TIMINGS_H_
#define TRANSPORT_SERVER_TIMINGS_H_

namespace ps {

// The times in seconds.
struct ServerTimings {
  double held = 0;  // The time from the push's arrival to its answer.
  double wait = 0;  // The part of `held` before the update began.
  // The work on the update of a slice, for all workers together.
  double sum = 0;
  double optimizer = 0;
  double encode = 0;

  double work() const { return sum + optimizer + encode; }
  ServerTimings& operator+=(const ServerTimings& other) {
    held += other.held;
    wait += other.wait;
    sum += other.sum;
    optimizer += other.optimizer;
    encode += other.encode;
    return *this;
  }
};

}  // namespace ps

#endif  // TRANSPORT_SERVER_TIMINGS_H_
