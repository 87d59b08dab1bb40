#include "worker/records/evaluation.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ps {
namespace {

constexpr double kLn2 = 0.6931471805599453;

double Ratio(int64_t part, int64_t whole) {
  return static_cast<double>(part) /
         static_cast<double>(std::max<int64_t>(whole, 1));
}

}  // namespace

Evaluation EvaluationOf(const ExampleShape& example, const BatchResult& sum) {
  Evaluation evaluation;
  evaluation.task = example.task;
  evaluation.has_top5 = example.num_classes > 5;
  evaluation.loss = sum.loss / static_cast<double>(sum.targets);
  evaluation.accuracy = Ratio(sum.correct, sum.targets);
  evaluation.top5_accuracy = Ratio(sum.correct_top5, sum.targets);
  evaluation.perplexity = std::exp(evaluation.loss);
  evaluation.bits_per_character = evaluation.loss / kLn2;
  evaluation.character_error_rate = Ratio(sum.character_errors, sum.characters);
  evaluation.word_error_rate = Ratio(sum.word_errors, sum.words);
  return evaluation;
}

std::vector<Metric> Metrics(const Evaluation& evaluation) {
  std::vector<Metric> metrics;
  switch (evaluation.task) {
    case Task::kImages:
    case Task::kTexts:
      metrics = {{"accuracy", evaluation.accuracy}};
      if (evaluation.has_top5) {
        metrics.push_back({"top5_accuracy", evaluation.top5_accuracy});
      }
      break;
    case Task::kWords:
      metrics = {{"perplexity", evaluation.perplexity}};
      break;
    case Task::kCharacters:
      metrics = {{"bits_per_character", evaluation.bits_per_character}};
      break;
    case Task::kSpeech:
      metrics = {{"character_error_rate", evaluation.character_error_rate},
                 {"word_error_rate", evaluation.word_error_rate}};
      break;
  }
  metrics.push_back({"loss", evaluation.loss});
  return metrics;
}

double Score(const Evaluation& evaluation) {
  return ScoreOf(evaluation.task, Metrics(evaluation).front().value);
}

double ScoreOf(Task task, double value) {
  return HasClasses(task) ? value : -value;
}

std::string DescribeMetrics(const std::vector<Metric>& metrics) {
  std::string text =
      absl::StrJoin(metrics, ", ", [](std::string* out, const Metric& metric) {
        absl::StrAppend(out, MetricWords(metric.name), " ",
                        FormatMetric(metric.name, metric.value));
      });
  // The running statistics of batch normalisation can be infinite while all
  // weights are finite.
  if (absl::c_any_of(metrics, [](const Metric& metric) {
        return metric.name == "loss" && !std::isfinite(metric.value);
      })) {
    text += " (training has diverged; lower the learning rate)";
  }
  return text;
}

}  // namespace ps
