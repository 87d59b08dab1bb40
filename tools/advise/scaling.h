// What a job would measure with more workers and servers than this machine can
// run, from two short measurements.
#ifndef TOOLS_ADVISE_SCALING_H_
#define TOOLS_ADVISE_SCALING_H_

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/advise/measurement.h"

namespace ps {

// The measures of one setting with one, two and four workers, and one server.
struct ScalingMeasures {
  LocalMeasures one;
  LocalMeasures two;
  LocalMeasures four;
};

// The share of elements that at least one of `workers` workers sends, if each
// sends the share `ratio`, and one of two or of four the shares `two` and
// `four`. Some elements are sent by every worker, and the chance of the others
// has a beta distribution (the beta-binomial model: Skellam, "A probability
// distribution derived from the binomial distribution by regarding the
// probability of success as variable between the sets of trials", JRSS B,
// 1948). Workers that choose the same elements send `ratio` together, and those
// that choose independently 1 - (1 - ratio)^workers. Shares that no such law
// gives count as the nearest that one gives.
double UnionShare(double ratio, double two, double four, int workers);

// The bytes that one of `workers` workers is answered in an iteration.
double AnswerBytes(const ScalingMeasures& measured, int workers);

// Processor seconds of a server for each byte of messages; 0 without bytes.
double SecondsPerByte(const ScalingMeasures& measured);

// What neither links nor processors explain of the time that the only worker of
// measured.one waited for answers. `config` is that of the setting.
absl::StatusOr<double> UnexplainedSeconds(const JobConfig& config,
                                          const LocalMeasures& one);

struct Scale {
  int workers = 1;
  int servers = 1;
  // All run on a machine like this one; otherwise each has its own.
  bool one_machine = false;
  int worker_threads = 1;
  // What bytes take of the messages' processor time; the rest is the same for
  // any number of workers.
  double seconds_per_byte = 0;
};

// The measures of a job of this size, for PredictSetting(): as `shared`, and
// also as `own` unless all run on one machine.
LocalMeasures ScaledMeasures(const ScalingMeasures& measured,
                             const Scale& scale);

}  // namespace ps

#endif  // TOOLS_ADVISE_SCALING_H_
