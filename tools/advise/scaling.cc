#include "tools/advise/scaling.h"

#include <algorithm>
#include <cmath>

#include "common/status_macros.h"
#include "tools/advise/exchange_model.h"
#include "tools/advise/prediction.h"

namespace ps {
namespace {

// Halves intervals of doubles until they are exact enough for bytes.
constexpr int kHalvings = 60;
// The loopback interface has no link that limits it.
constexpr double kNoLimit = 1e15;

// The argument in [least, most] at which an ascending function has this value.
template <typename Function>
double Inverse(const Function& function, double value, double least,
               double most) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (least + most) / 2;
    (function(middle) < value ? least : most) = middle;
  }
  return (least + most) / 2;
}

// Bits for each element of the model that say which share `sent` of them a
// message has: no code of the positions takes less on average.
double PositionBits(double sent) {
  const auto bits = [](double p) { return p <= 0 ? 0 : -p * std::log2(p); };
  return bits(sent) + bits(1 - sent);
}

// The size of an answer in bits for each element of the model.
class AnswerCode {
 public:
  // An answer with the share `sent` of all elements has this many bits.
  AnswerCode(double sent, double bits)
      : value_bits_(std::max(0.0, (bits - PositionBits(sent)) / sent)) {}

  // Never longer than all values without positions.
  double Bits(double sent) const {
    return std::min(sent * value_bits_ + PositionBits(sent), value_bits_);
  }

 private:
  double value_bits_;
};

// Every worker sends the share `always`. The chance of the other elements has a
// beta distribution with this logarithm of the sum of its parameters, and the
// mean that makes it `ratio` altogether.
struct ChoiceLaw {
  double ratio = 0;
  double always = 0;
  double log_sum = 0;

  // The share that at least one of `workers` workers sends.
  double Share(int workers) const {
    const double mean = (ratio - always) / (1 - always);
    const double sum = std::exp(log_sum);
    double nobody = 1 - always;
    for (int i = 0; i < workers; ++i) {
      nobody *= (sum * (1 - mean) + i) / (sum + i);
    }
    return 1 - nobody;
  }
};

// The law that gives two workers this share.
ChoiceLaw LawOfTwo(double ratio, double always, double two) {
  constexpr double kMost = 30;  // Of the logarithm: chances are equal.
  const auto law = [=](double log_sum) {
    return ChoiceLaw{ratio, always, log_sum};
  };
  return law(Inverse([&law](double log_sum) { return law(log_sum).Share(2); },
                     two, -kMost, kMost));
}

}  // namespace

double UnionShare(double ratio, double two, double four, int workers) {
  // The mean square of the chances. `always` is largest if the others are
  // equal.
  const double square = 2 * ratio - two;
  const double most = std::clamp(
      (square - ratio * ratio) / (1 - 2 * ratio + square), 0.0, ratio);
  const double always = Inverse(
      [&](double share) { return LawOfTwo(ratio, share, two).Share(4); }, four,
      0, most);
  return LawOfTwo(ratio, always, two).Share(workers);
}

double AnswerBytes(const ScalingMeasures& measured, int workers) {
  const auto elements = static_cast<double>(measured.one.num_parameters);
  const double of_two = measured.two.bytes_down / 2;
  const double of_four = measured.four.bytes_down / 4;
  const double ratio = measured.one.achieved_ratio;
  if (!(ratio > 0 && ratio < 1) || measured.one.bytes_down <= 0) {
    return of_four;
  }
  const AnswerCode code(ratio, 8 * measured.one.bytes_down / elements);
  const auto share = [&](double bytes) {
    return Inverse([&code](double sent) { return code.Bits(sent); },
                   8 * bytes / elements, ratio, 1);
  };
  const auto bits = [&](int count) {
    return code.Bits(UnionShare(ratio, share(of_two), share(of_four), count));
  };
  return of_four * bits(workers) / bits(4);
}

double SecondsPerByte(const ScalingMeasures& measured) {
  const double bytes = measured.four.bytes_up + measured.four.bytes_down;
  return bytes > 0 ? measured.four.messages / bytes : 0;
}

absl::StatusOr<double> UnexplainedSeconds(const JobConfig& config,
                                          const LocalMeasures& one) {
  JobConfig alone = config;
  alone.mutable_cluster()->set_num_workers(1);
  alone.mutable_cluster()->set_num_servers(1);
  JobNetwork network;
  network.bits_per_second = kNoLimit;
  LocalMeasures measures = one;
  measures.iteration = measures.latency = 0;
  PS_ASSIGN_OR_RETURN(
      const SettingPrediction explained,
      PredictSetting(alone, measures, /*own=*/std::nullopt, network));
  return std::max(0.0,
                  one.compute + one.codec + one.await - explained.iteration) *
         config.consistency().local_steps();
}

LocalMeasures ScaledMeasures(const ScalingMeasures& measured,
                             const Scale& scale) {
  const LocalMeasures& one = measured.one;
  const LocalMeasures& four = measured.four;
  const double workers = scale.workers;
  const double up = four.bytes_up / 4;
  const double measured_down = four.bytes_down / 4;
  const double down = AnswerBytes(measured, scale.workers);
  const auto times = [](double value, double base) {
    return base > 0 ? value / base : 1;
  };

  LocalMeasures scaled = one;
  scaled.iteration = 0;
  scaled.bytes_up = workers * up;
  scaled.bytes_down = workers * down;
  // Each push is added up; then all that has changed is updated and sent.
  scaled.server_sum = four.server_sum * workers / 4 / scale.servers;
  scaled.server = scaled.server_sum + (four.server - four.server_sum) *
                                          times(down, measured_down) /
                                          scale.servers;
  scaled.codec += one.apply * (times(down, one.bytes_down) - 1);
  const double bytes_share = scale.seconds_per_byte * (up + measured_down);
  const double same = std::max(0.0, four.messages / 4 - bytes_share);
  scaled.messages = workers * (same + scale.seconds_per_byte * (up + down));
  if (scale.one_machine) {
    // As many as it has processors, less what they slow each other down.
    const double places =
        std::max(1.0, std::max(4.0, one.processors / scale.worker_threads) *
                          one.compute / four.compute);
    scaled.contention = std::max(1.0, workers / places);
    scaled.compute *= scaled.contention;
    scaled.codec *= scaled.contention;
  }
  return scaled;
}

}  // namespace ps
