#include "tests/optimizers/optimizer_harness.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "glog/logging.h"

namespace ps {

OptimizerConfig OptimizerFrom(const std::string& text) {
  const auto job = ParseConfig(absl::StrCat("optimizer { ", text, " }"), text);
  CHECK(job.ok()) << job.status();
  return job->optimizer();
}

std::vector<OptimizerConfig> RuleVariants() {
  std::vector<OptimizerConfig> variants;
  for (const std::string& name : OptimizerRegistry().Names()) {
    variants.push_back(OptimizerFrom(absl::StrCat("name: '", name, "'")));
  }
  for (const char* text :
       {"name: 'momentum' momentum: 0.5 dampening: 0.3",
        "name: 'nesterov' momentum: 0.99",
        "name: 'adam' beta1: 0.5 beta2: 0.9 epsilon: 0.1",
        "name: 'adam' beta1: 0.5 beta2: 0 epsilon: 0.1",
        "name: 'adamw' beta1: 0 beta2: 0.5 epsilon: 0.5",
        "name: 'adagrad' initial_accumulator: 0.5 learning_rate_decay: 0.2 "
        "epsilon: 0.1",
        "name: 'lars' trust_coefficient: 0.3 momentum: 0.7 epsilon: 0.5",
        "name: 'lars' trust_coefficient: 0.3 nesterov: true",
        "name: 'lars' trust_coefficient: 0.06 clip_learning_rate: true",
        "name: 'lamb' beta1: 0.6 beta2: 0.8 epsilon: 0.01",
        "name: 'lamb' always_adapt: true", "name: 'lamb' trust_clip: 2",
        "name: 'novograd' averaging: true",
        "name: 'novograd' beta1: 0.3 beta2: 0.5 epsilon: 0.7"}) {
    variants.push_back(OptimizerFrom(text));
  }
  return variants;
}

std::string TextOf(const OptimizerConfig& config) {
  return config.ShortDebugString();
}

std::vector<TensorStretch> WholeTensors(const std::vector<int64_t>& sizes) {
  std::vector<TensorStretch> stretches;
  for (const int64_t size : sizes) {
    const int tensor = static_cast<int>(stretches.size());
    stretches.push_back({tensor, 0, size, /*adapt=*/size >= kSmall});
  }
  return stretches;
}

OptimizerOptions OptionsOf(const OptimizerConfig& config,
                           const std::vector<TensorStretch>& stretches) {
  OptimizerOptions options;
  options.config = config;
  options.stretches = stretches;
  for (const TensorStretch& stretch : stretches) {
    options.num_elements += stretch.end - stretch.begin;
  }
  return options;
}

std::unique_ptr<Optimizer> NewRule(
    const OptimizerConfig& config,
    const std::vector<TensorStretch>& stretches) {
  auto optimizer = NewOptimizer(OptionsOf(config, stretches));
  CHECK(optimizer.ok()) << optimizer.status();
  return *std::move(optimizer);
}

Trajectory RandomTrajectory(int64_t num_elements, int num_updates,
                            uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  const auto draw = [&] {
    std::vector<float> values(num_elements);
    for (float& value : values) value = normal(random);
    return values;
  };
  Trajectory trajectory;
  trajectory.weights = draw();
  for (int t = 0; t < num_updates; ++t) trajectory.gradients.push_back(draw());
  return trajectory;
}

UpdateInfo UpdateOf(int t) {
  UpdateInfo update;
  update.learning_rate = 0.1 / (1 + t % 3);
  update.update = t;
  return update;
}

void WholeStep(const UpdateInfo& update, const std::vector<float>& gradient,
               Optimizer* optimizer, std::vector<float>* weights) {
  if (optimizer->layer_wise()) {
    optimizer->SetTotals(update, optimizer->PartialSquares(
                                     update, gradient.data(), weights->data()));
  }
  optimizer->Step(update, 0, static_cast<int64_t>(weights->size()),
                  gradient.data(), weights->data());
}

std::vector<float> WeightsAfter(const OptimizerConfig& config,
                                const std::vector<TensorStretch>& stretches,
                                const Trajectory& trajectory) {
  const auto optimizer = NewRule(config, stretches);
  std::vector<float> weights = trajectory.weights;
  int t = 0;
  for (const std::vector<float>& gradient : trajectory.gradients) {
    WholeStep(UpdateOf(t++), gradient, optimizer.get(), &weights);
  }
  return weights;
}

std::vector<std::vector<float>> StateOf(Optimizer* optimizer) {
  std::vector<std::vector<float>> state;
  for (const auto& [name, array] : optimizer->State()) state.push_back(*array);
  return state;
}

}  // namespace ps
