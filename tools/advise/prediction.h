// Puts together what was measured on this machine and what a network adds.
#ifndef TOOLS_ADVISE_PREDICTION_H_
#define TOOLS_ADVISE_PREDICTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/advise/exchange_model.h"
#include "tools/advise/measurement.h"

namespace ps {

// The network of the job. Every worker and every server is a host of its own.
struct JobNetwork {
  // Bandwidth of each host's link in each direction, headers included. None:
  // the job stays on this machine, and the measured times are the prediction.
  std::optional<double> bits_per_second;
  double burst_bytes = 0;  // See HostLink.
};

// What a link of this bandwidth carries of messages' bytes, in bytes per
// second.
double PayloadRate(double bits_per_second);

// The messages of one exchange of all workers. Its slices are those of a job
// with `num_parameters` in buckets of equal size, and share the bytes in
// proportion to their elements. `measures` are per iteration; an exchange has
// the bytes of consistency.local_steps iterations. Many workers are represented
// by a few. Errors: those of ShardMap::Create.
absl::StatusOr<Exchange> ExchangeOf(const JobConfig& config,
                                    const LocalMeasures& measures,
                                    const HostLink& link);

// Seconds of one iteration.
struct SettingPrediction {
  std::string setting;
  JobConfig config;
  double iteration = 0;
  double compute = 0;
  double codec = 0;
  // Waiting for answers when it was measured, without the network.
  double await = 0;
  // What the messages of each direction take on the busiest link, and what one
  // server's work takes. Each may overlap with others.
  double up = 0;
  double down = 0;
  double server = 0;
  // The busiest link in one exchange. None without a network.
  LinkLoad busiest_up;
  LinkLoad busiest_down;
  double bytes_up = 0;  // Of all workers.
  double bytes_down = 0;
  double achieved_ratio = 0;
  // What was predicted from each turn's measures, if there were several.
  std::vector<double> iterations;
  // The most that a turn's compute was of another one's.
  double compute_spread = 1;

  // The part that takes longest: "compute", "codec", "up", "down", "server".
  const char* Bottleneck() const;
};

// `shared`: measured with all the job's workers on this machine. `own`:
// measured with as many workers as share one machine in the real job, if these
// are fewer; computation and codec are taken from it. Errors: those of
// ExchangeOf.
absl::StatusOr<SettingPrediction> PredictSetting(
    const JobConfig& config, const LocalMeasures& shared,
    const std::optional<LocalMeasures>& own, const JobNetwork& network);

// Measures of one setting, as for PredictSetting().
struct SettingMeasures {
  JobConfig config;
  LocalMeasures shared;
  std::optional<LocalMeasures> own;
};

// What a worker on a machine of its own computes does not depend on compressor
// and downlink. Sets own->compute of settings that differ in nothing else to
// the least of them, because other programs on the machine only add to it.
void TakeLeastCompute(std::vector<SettingMeasures>* settings);

// The prediction of the turn in the middle, with the spread of all; `turns` is
// not empty.
SettingPrediction MiddleTurn(std::vector<SettingPrediction> turns);

// The number of the recommended setting: the first one that was, in some turn,
// at most kWorthwhile times slower than the fastest. Settings must begin with
// the one that the others are compared with, which therefore also stands for
// "no compression pays".
constexpr double kWorthwhile = 1.05;
size_t Recommended(const std::vector<SettingPrediction>& settings);

}  // namespace ps

#endif  // TOOLS_ADVISE_PREDICTION_H_
