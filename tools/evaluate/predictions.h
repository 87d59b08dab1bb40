// What a model takes an image for, as text.
#ifndef TOOLS_EVALUATE_PREDICTIONS_H_
#define TOOLS_EVALUATE_PREDICTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace ps {

struct ClassProbability {
  int64_t number = 0;      // Of the class.
  double probability = 0;  // softmax(logits)[number].
};

// The classes with the `count` largest logits, largest first; of equal ones,
// the first comes first. count: in [1, logits].
std::vector<ClassProbability> TopClasses(absl::Span<const float> logits,
                                         int64_t count);

struct NamedProbability {
  std::string name;
  double probability = 0;
};

struct Prediction {
  std::string file;   // Or whatever the example is known by.
  std::string label;  // The name of its true class; empty if nobody knows.
  std::vector<NamedProbability> classes;  // Most probable first; at least one.
};

// One line each, with its end. A CSV field with a comma, a quote or a line
// break is quoted as RFC 4180 says.
std::string CsvHeader(int64_t num_classes, bool has_labels);
std::string CsvLine(const Prediction& prediction);
std::string JsonLine(const Prediction& prediction);

}  // namespace ps

#endif  // TOOLS_EVALUATE_PREDICTIONS_H_
