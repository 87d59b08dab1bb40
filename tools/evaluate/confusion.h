// Which classes a model takes for which others.
#ifndef TOOLS_EVALUATE_CONFUSION_H_
#define TOOLS_EVALUATE_CONFUSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nlohmann/json_fwd.hpp"

namespace ps {

// Up to this many classes the whole table is shown to people.
constexpr int64_t kMaxShownClasses = 20;

// Not thread-safe.
class Confusion {
 public:
  // One name for each class; at least one.
  explicit Confusion(std::vector<std::string> class_names);

  // labels: the true classes; logits: [labels, classes]. The prediction is the
  // class with the largest logit; of equal ones, the first. Errors:
  // kInvalidArgument unless there are as many logits as classes for each label,
  // and each label is a class.
  absl::Status Add(absl::Span<const int32_t> labels,
                   absl::Span<const float> logits);

  // The number of examples of class `label` that were taken for `predicted`.
  int64_t count(int64_t label, int64_t predicted) const {
    return counts_[label * num_classes() + predicted];
  }
  int64_t num_classes() const {
    return static_cast<int64_t>(class_names_.size());
  }

  // For people: the table or, with more than kMaxShownClasses, the pairs of
  // classes that were confused most often.
  std::string Text() const;

  // The fields "classes", a list of names, and "confusion", a list for each
  // true class of how many were taken for each class.
  void AddTo(nlohmann::ordered_json* json) const;

 private:
  std::string TableText() const;
  std::string PairsText() const;
  int64_t NumExamples(int64_t label) const;
  // What share of a class is recognised: "97.5 %"; "-" if there is no example.
  std::string RecallText(int64_t label) const;

  const std::vector<std::string> class_names_;
  std::vector<int64_t> counts_;  // [label, predicted]
};

}  // namespace ps

#endif  // TOOLS_EVALUATE_CONFUSION_H_
