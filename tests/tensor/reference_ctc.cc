#include "tests/tensor/reference_ctc.h"

#include <cmath>

namespace ps {
namespace {

// The labels that a path spells: merges repeated classes, then removes blanks.
std::vector<int32_t> Spelling(const std::vector<int32_t>& path) {
  std::vector<int32_t> labels;
  for (size_t t = 0; t < path.size(); ++t) {
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) {
      labels.push_back(path[t]);
    }
  }
  return labels;
}

// Counts in base `classes`; returns false after the last path.
bool NextPath(int32_t classes, std::vector<int32_t>* path) {
  for (int32_t& digit : *path) {
    if (++digit < classes) return true;
    digit = 0;
  }
  return false;
}

}  // namespace

double ReferenceCtcLoss(const ReferenceTensor& logits, int64_t example,
                        int64_t frames, const std::vector<int32_t>& labels) {
  const int64_t batch = logits.shape[1], classes = logits.shape[2];
  std::vector<double> probabilities(frames * classes);
  for (int64_t t = 0; t < frames; ++t) {
    const double* const x =
        logits.values.data() + (t * batch + example) * classes;
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(x[k]);
    for (int64_t k = 0; k < classes; ++k) {
      probabilities[t * classes + k] = std::exp(x[k]) / sum;
    }
  }
  double total = 0;
  std::vector<int32_t> path(frames);
  do {
    if (Spelling(path) != labels) continue;
    double probability = 1;
    for (int64_t t = 0; t < frames; ++t) {
      probability *= probabilities[t * classes + path[t]];
    }
    total += probability;
  } while (NextPath(static_cast<int32_t>(classes), &path));
  return -std::log(total);
}

}  // namespace ps
