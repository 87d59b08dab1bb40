#include "tests/simulation/rank.h"

#include <cmath>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "bridge/session.h"
#include "common/consistency.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "tensor/parameter_info.h"

namespace ps::sim {
namespace {

constexpr int64_t kElements = 3274;
// Pushes between two averages of numbers.
constexpr int64_t kAverageEvery = 4;

std::vector<ParameterInfo> Tensors() {
  return {{"fc1.weight", {64, 40}, 0},
          {"fc1.bias", {64}, 2560},
          {"fc2.weight", {10, 64}, 2624},
          {"fc2.bias", {10}, 3264}};
}

std::vector<float> FirstWeights() {
  std::vector<float> weights(kElements);
  for (int64_t i = 0; i < kElements; ++i) {
    weights[i] = static_cast<float>(Mix64(i) % 64) / 64 - 0.5F;
  }
  return weights;
}

// A step or gradient, element by element: multiples of the number of ranks, in
// units of 1/64, so that the mean is exact, too. Where ranks drift apart it
// does not depend on the weights.
class Moves {
 public:
  Moves(const JobConfig& config, int rank, int64_t step)
      : drift_(WorkersDrift(config)),
        unit_(static_cast<float>(config.cluster().num_workers()) / 64),
        key_(RandomKey(static_cast<uint64_t>(rank),
                       static_cast<uint64_t>(step))) {}

  float Of(int64_t i, float weight) const {
    const int64_t at = drift_ ? 0 : std::llround(double{weight} * 64);
    const uint64_t draw =
        Mix64(key_ ^ static_cast<uint64_t>(i + (at * (1 << 20))));
    return unit_ * (static_cast<float>(draw % 15) - 7);
  }

 private:
  const bool drift_;
  const float unit_;
  const uint64_t key_;
};

// What a program's optimizer does between two pushes.
void StepLocally(const JobConfig& config, int rank, int64_t push,
                 std::vector<float>* weights) {
  const int64_t steps = config.consistency().local_steps();
  for (int64_t step = push * steps; step < (push + 1) * steps; ++step) {
    const Moves moves(config, rank, step);
    for (int64_t i = 0; i < kElements; ++i) {
      (*weights)[i] -= moves.Of(i, (*weights)[i]);
    }
  }
}

class Program {
 public:
  explicit Program(const RankOptions& options)
      : options_(options),
        config_(*options.config),
        in_(kElements),
        out_(kElements),
        weights_(FirstWeights()) {}

  RankResult Run() {
    RankResult result;
    result.status = Train();
    // As bridge/dialogue.cc does.
    const absl::Status hung_up = options_.interruption->why();
    if (!hung_up.ok()) {
      result.status = absl::UnavailableError("its training process has ended");
    }
    if (!result.status.ok() && session_ != nullptr) {
      session_->GiveUp(absl::UnavailableError(result.status.message()));
    }
    result.weights = weights_;
    return result;
  }

 private:
  absl::Status Train() {
    BridgeSessionOptions session;
    session.config = options_.config;
    session.worker_rank = options_.rank;
    session.incarnation = options_.incarnation;
    session.name = options_.name;
    session.parameters = Tensors();
    session.in = in_.data();
    session.out = out_.data();
    session.interruption = options_.interruption;
    PS_ASSIGN_OR_RETURN(session_, BridgeSession::Open(session));
    options_.joined();
    const bool exchanges = AnswersMeans(config_);
    if (!exchanges) {
      in_ = weights_;
      if (options_.rank == 0) PS_RETURN_IF_ERROR(session_->SetFirstWeights());
      PS_RETURN_IF_ERROR(session_->Pull());
    }
    for (int64_t push = 0; push < options_.pushes; ++push) {
      PS_RETURN_IF_ERROR(exchanges ? Exchange(push) : Step(push));
      if (!WorkersDrift(config_) && push % kAverageEvery == 0) {
        PS_RETURN_IF_ERROR(Average(push));
      }
    }
    options_.trained();
    if (!exchanges) {
      PS_RETURN_IF_ERROR(session_->ReadServersWeights());
      weights_ = in_;
    }
    PS_RETURN_IF_ERROR(session_->Finish());
    if (WorkersDrift(config_)) weights_ = in_;
    return absl::OkStatus();
  }

  absl::Status Push() {
    PS_RETURN_IF_ERROR(session_->BeginPush(std::nullopt, /*samples=*/0));
    for (size_t b = 0; b < session_->buckets().size(); ++b) {
      PS_RETURN_IF_ERROR(session_->Ready(static_cast<int>(b)));
    }
    return session_->AwaitPush();
  }

  absl::Status Step(int64_t push) {
    in_ = out_;
    StepLocally(config_, options_.rank, push, &in_);
    return Push();
  }

  absl::Status Exchange(int64_t push) {
    const Moves gradient(config_, options_.rank, push);
    for (int64_t i = 0; i < kElements; ++i) {
      in_[i] = gradient.Of(i, weights_[i]);
    }
    PS_RETURN_IF_ERROR(Push());
    for (int64_t i = 0; i < kElements; ++i) weights_[i] -= out_[i];
    return absl::OkStatus();
  }

  absl::Status Average(int64_t push) {
    const int n = config_.cluster().num_workers();
    std::vector<float> values = {static_cast<float>(options_.rank * n),
                                 static_cast<float>(push)};
    PS_RETURN_IF_ERROR(session_->Average(&values));
    const double means[] = {n * (n - 1) / 2.0, static_cast<double>(push)};
    for (int i = 0; i < 2; ++i) {
      if (std::abs(values[i] - means[i]) < 1e-5) continue;
      return absl::DataLossError(
          absl::StrCat("an average is ", values[i], "; must be ", means[i]));
    }
    return absl::OkStatus();
  }

  const RankOptions& options_;
  const JobConfig& config_;
  std::vector<float> in_;  // [kElements], as all below.
  std::vector<float> out_;
  std::vector<float> weights_;
  std::unique_ptr<BridgeSession> session_;
};

bool SendsAll(const CompressorConfig& compressor) {
  return (compressor.name() == "none" || compressor.ratio() == 1) &&
         (compressor.value_code() == "fp32" ||
          compressor.value_code() == "fp16");
}

}  // namespace

RankResult RunRank(const RankOptions& options) {
  return Program(options).Run();
}

std::optional<std::vector<float>> WeightsByLoops(const JobConfig& config,
                                                 int64_t pushes) {
  const DownlinkConfig& downlink = config.downlink();
  if (!SendsAll(config.compressor()) ||
      downlink.mode() == DownlinkConfig::COMPRESSED ||
      !SendsAll(downlink.compressor())) {
    return std::nullopt;
  }
  const int num_workers = config.cluster().num_workers();
  std::vector<float> weights = FirstWeights();
  for (int64_t push = 0; push < pushes; ++push) {
    std::vector<float> sum(kElements);
    for (int rank = 0; rank < num_workers; ++rank) {
      std::vector<float> mine = weights;
      StepLocally(config, rank, push, &mine);
      for (int64_t i = 0; i < kElements; ++i) sum[i] += weights[i] - mine[i];
    }
    for (int64_t i = 0; i < kElements; ++i) {
      weights[i] -= sum[i] / static_cast<float>(num_workers);
    }
  }
  return weights;
}

}  // namespace ps::sim
