// Predicts how long an iteration takes on a network: every worker pushes all
// slices, a slice is answered when the last worker's push has arrived, answers
// come back while other pushes are still on their way, and a worker that has
// all its answers computes and pushes again.
//
// The model is a fluid one. A message is a flow through the sender's and the
// receiver's link. The messages of one connection follow one another; all
// connections send at once and share the links max-min fairly. Real connections
// do not get equal shares of a link, so each has a random weight, and the
// prediction is the mean over several draws of all weights. With equal weights
// all slices would finish at about the same time, and no answer could start
// before the last push, nor could a worker compute while others still receive.
//
// Processors are shared in the same way. A worker's work, a server's work on a
// slice and the messages, which a processor must encrypt and copy, are flows
// through the processors of their host, or of the one machine on which all
// hosts run. Latency is what `ready_seconds` has of it.
#ifndef TOOLS_ADVISE_EXCHANGE_MODEL_H_
#define TOOLS_ADVISE_EXCHANGE_MODEL_H_

#include <limits>
#include <vector>

namespace ps {

// The link of one host, in both directions. A token bucket for each direction:
// after a pause `burst_bytes` pass at once, and the pause refills them at the
// link's rate.
struct HostLink {
  double up_bytes_per_second = 0;    // What the host sends; above 0.
  double down_bytes_per_second = 0;  // What it receives; above 0.
  double burst_bytes = 0;
};

// One message of each worker, and its answer.
struct ExchangeSlice {
  int server = 0;
  // Number of the connection between a worker and this server.
  int connection = 0;
  double up_bytes = 0;
  double down_bytes = 0;
  // When a worker has it, from when it has the first one.
  double ready_seconds = 0;
  // What one of the server's threads does between the last push and the first
  // answer.
  double server_seconds = 0;
};

struct Exchange {
  std::vector<HostLink> workers;
  // The number of workers, doing the same at the same time, that each of
  // `workers` stands for.
  double workers_each = 1;
  std::vector<HostLink> servers;
  // In the order in which workers push them; ready times do not descend.
  std::vector<ExchangeSlice> slices;
  // The most bytes of pushes that a worker has under way at one server. A
  // longer push goes alone.
  double credit_bytes = std::numeric_limits<double>::infinity();
  // From a worker's last answer until it has the first slice again, if fewer
  // than `work_places` workers are at work. More of them share the places.
  double work_seconds = 0;
  double work_places = std::numeric_limits<double>::infinity();
  // Slices that one server works on at once.
  int server_threads = 1;
  // Of each host or, if `one_machine`, of all hosts together.
  double processors = std::numeric_limits<double>::infinity();
  bool one_machine = false;
  // What a byte of a message takes of a processor, at each of its two ends.
  double seconds_per_byte = 0;
};

struct ExchangeModelOptions {
  // Standard deviation of the logarithm of a connection's weight; 0: all equal.
  // With 0.4 the model is within 5 % of what `gradsieve bench network` measured
  // for dense pushes of four jobs (docs/results.md).
  double unevenness = 0.4;
  int draws = 8;  // At least 1.
};

// Seconds of an iteration, work and exchange, in the long run; 0 without
// slices. Deterministic.
double PredictIterationSeconds(const Exchange& exchange,
                               const ExchangeModelOptions& options = {});

// What one direction of the busiest link, of a worker or of a server, carries
// in an exchange.
struct LinkLoad {
  double seconds = 0;  // Without bursts. No iteration is shorter.
  double bytes = 0;
  bool of_server = false;
};
LinkLoad BusiestUp(const Exchange& exchange);    // Pushes.
LinkLoad BusiestDown(const Exchange& exchange);  // Answers.

// Seconds that the busiest server computes in an exchange: its work on slices,
// and both directions of its messages.
double BusiestServerSeconds(const Exchange& exchange);

}  // namespace ps

#endif  // TOOLS_ADVISE_EXCHANGE_MODEL_H_
