#include "common/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

constexpr double kPi = 3.14159265358979323846;

double StepRate(double base, const ScheduleConfig& schedule, int64_t update) {
  int64_t steps = 0;
  if (schedule.milestones_size() > 0) {
    for (const int64_t milestone : schedule.milestones()) {
      if (milestone <= update) ++steps;
    }
  } else if (schedule.period() > 0) {
    steps = update / schedule.period();
  }
  return base * std::pow(schedule.gamma(), static_cast<double>(steps));
}

// Returns the fraction of the updates between the end of the warm-up and
// total_updates that are done; [0, 1].
double Progress(const ScheduleConfig& schedule, int64_t total_updates,
                int64_t update) {
  const int64_t warmup = schedule.warmup_updates();
  const int64_t total =
      schedule.total_updates() > 0 ? schedule.total_updates() : total_updates;
  // A warm-up that fills the whole job leaves nothing to anneal.
  const double span = static_cast<double>(std::max<int64_t>(total - warmup, 1));
  return std::clamp(static_cast<double>(update - warmup) / span, 0.0, 1.0);
}

double CosineShare(double progress) {
  return (1.0 + std::cos(kPi * progress)) / 2.0;
}

double PolynomialShare(double progress, double power) {
  return std::pow(1.0 - progress, power);
}

void CheckScheduleConfig(const JobConfig& job, ConfigProblems* problems) {
  const ScheduleConfig& config = job.schedule();
  for (int i = 0; i < config.milestones_size(); ++i) {
    const int64_t before = i == 0 ? -1 : config.milestones(i - 1);
    problems->CheckThat(config.milestones(i) > before,
                        absl::StrCat("schedule.milestones[", i, "]"),
                        config.milestones(i),
                        "must be at least 0 and above the one before it");
  }
  if (config.name() == "step" && config.milestones_size() == 0 &&
      config.period() == 0) {
    problems->Add("schedule.name", "\"step\"",
                  "needs schedule.milestones or schedule.period");
  }
}

const bool ps_schedule_check = RegisterConfigCheck(CheckScheduleConfig);

}  // namespace

double LearningRate(const OptimizerConfig& optimizer,
                    const ScheduleConfig& schedule, int64_t total_updates,
                    int64_t update) {
  const double base = optimizer.learning_rate();
  if (update < schedule.warmup_updates()) {
    return base * static_cast<double>(update + 1) /
           static_cast<double>(schedule.warmup_updates());
  }
  const std::string& name = schedule.name();
  if (name == "step") return StepRate(base, schedule, update);
  if (name != "cosine" && name != "polynomial") return base;
  const double progress = Progress(schedule, total_updates, update);
  const double left = name == "cosine"
                          ? CosineShare(progress)
                          : PolynomialShare(progress, schedule.power());
  const double end = schedule.end_learning_rate();
  return end + (base - end) * left;
}

double BaseLearningRate(const JobConfig& job) {
  if (job.has_worker_optimizer() && !job.optimizer().has_learning_rate()) {
    return 1;
  }
  return job.optimizer().learning_rate();
}

double ServersLearningRate(const JobConfig& job, int64_t total_updates,
                           int64_t update) {
  if (job.has_worker_optimizer()) return BaseLearningRate(job);
  return LearningRate(job.optimizer(), job.schedule(), total_updates, update);
}

bool IsLonger(const TrainingConfig& now, const TrainingConfig& before) {
  const auto limit = [](const TrainingConfig& training) {
    return training.max_iterations() > 0 ? training.max_iterations()
                                         : std::numeric_limits<int64_t>::max();
  };
  return now.epochs() >= before.epochs() && limit(now) >= limit(before) &&
         (now.epochs() > before.epochs() || limit(now) > limit(before));
}

bool DependsOnItsLength(const JobConfig& job) {
  const ScheduleConfig& schedule = job.schedule();
  return ((schedule.name() == "cosine" || schedule.name() == "polynomial") &&
          schedule.total_updates() == 0) ||
         job.training().has_layer_parallel();
}

}  // namespace ps
