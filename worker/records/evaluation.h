// Defines the metrics of an evaluation, by task.
#ifndef WORKER_RECORDS_EVALUATION_H_
#define WORKER_RECORDS_EVALUATION_H_

#include <string>
#include <vector>

#include "common/batch.h"
#include "common/metric.h"
#include "models/layers/batch_result.h"

namespace ps {

struct Evaluation {
  Task task = Task::kImages;
  double loss = 0;  // The mean over images, tokens or recordings.
  // For examples with a class: fractions of all examples.
  double accuracy = 0;
  double top5_accuracy = 0;
  bool has_top5 = false;  // Whether there are more than five classes.
  // For text: exp(loss), and loss / ln 2.
  double perplexity = 0;
  double bits_per_character = 0;
  // For speech: errors over the length of the transcripts; may exceed 1.
  double character_error_rate = 0;
  double word_error_rate = 0;
};

// Computes the metrics. `sum` is over all batches of such examples, with `loss`
// summed over the targets. There must be at least one target.
Evaluation EvaluationOf(const ExampleShape& example, const BatchResult& sum);

// Returns the metrics that are reported for the task: the most important one
// first, the loss last. The run's files prefix the names with "test_".
std::vector<Metric> Metrics(const Evaluation& evaluation);

// Returns the most important metric, negated if less of it is better.
double Score(const Evaluation& evaluation);
// Returns the score of a value of the task's most important metric.
double ScoreOf(Task task, double value);

// Returns a text for people: "accuracy 98.70 %, top-5 accuracy 99.95 %, loss
// 0.0412". It has advice if the loss is not finite.
std::string DescribeMetrics(const std::vector<Metric>& metrics);

}  // namespace ps

#endif  // WORKER_RECORDS_EVALUATION_H_
