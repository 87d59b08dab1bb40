#include "tensor/cpu/cpu_ctc_lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tensor/cpu/cpu_ctc_loops.h"

namespace ps {
namespace {

// The cells of ln 0 at the edge of a row, since a path may skip one state.
constexpr int64_t kEdge = 2;

// Returns the number of states in which a path may begin, and of those in which
// it may end: the first two and the last two. There is only one state if the
// transcript is empty.
int64_t NumEnds(int64_t num_states) { return std::min<int64_t>(2, num_states); }

}  // namespace

CtcLattice::CtcLattice(int64_t steps, int64_t classes)
    : steps_(steps), class_shares_(classes) {
  log_softmax_.reset(new double[steps * classes]);
}

void CtcLattice::Reserve(int64_t num_labels) {
  const int64_t states = 2 * num_labels + 1;
  if (states <= reserved_states_) return;
  const int64_t row_length = CtcPadded(states) + kEdge;
  state_classes_.reserve(states);
  for (std::vector<double>* row :
       {&backward_[0], &backward_[1], &skip_weight_, &emission_, &shares_}) {
    row->reserve(row_length);
  }
  forward_.reset(new double[steps_ * row_length]);
  reserved_states_ = states;
}

double CtcLattice::Loss(const CtcFrames& frames,
                        absl::Span<const int32_t> labels) {
  if (!SetLogSoftmax(frames)) return std::numeric_limits<double>::quiet_NaN();
  SetStates(labels);
  RunForward(frames);
  const double* const last = ForwardRow(frames.count - 1);
  log_p_ = last[num_states_ - 1];
  if (num_states_ > 1) {
    const double other = last[num_states_ - 2];
    log_p_ = std::max(log_p_, other) +
             std::log1p(std::exp(-std::abs(log_p_ - other)));
  }
  return -log_p_;
}

void CtcLattice::Backward(const CtcFrames& frames, double scale,
                          float* gradient) {
  double* row = backward_[0].data();
  double* next = backward_[1].data();
  for (int64_t t = frames.count; t-- > 0;) {
    SetEmission(frames, t);
    if (t == frames.count - 1) {
      const int64_t first = num_states_ - NumEnds(num_states_);
      std::copy(emission_.begin() + first, emission_.begin() + num_states_,
                row + first);
    } else {
      std::swap(row, next);
      CtcAdvance(
          {next, next + 1, next + 2, skip_weight_.data() + 2, emission_.data()},
          num_states_, row);
    }
    CtcShares({ForwardRow(t), row, emission_.data(), log_p_}, num_states_,
              shares_.data());
    WriteGradient(frames, t, scale, gradient + t * frames.stride);
  }
}

// Returns false if a logit is not finite.
bool CtcLattice::SetLogSoftmax(const CtcFrames& frames) {
  for (int64_t t = 0; t < frames.count; ++t) {
    const float* const x = frames.logits + t * frames.stride;
    double* const y = log_softmax_.get() + t * frames.classes;
    const double max = *std::max_element(x, x + frames.classes);
    double sum = 0, plain_sum = 0;
    for (int64_t k = 0; k < frames.classes; ++k) {
      sum += std::exp(x[k] - max);
      plain_sum += x[k];
    }
    // A sum of finite floats is a finite double.
    if (!std::isfinite(plain_sum)) return false;
    const double log_sum = max + std::log(sum);
    for (int64_t k = 0; k < frames.classes; ++k) y[k] = x[k] - log_sum;
  }
  return true;
}

// Does not allocate: the reserved memory suffices.
void CtcLattice::SetStates(absl::Span<const int32_t> labels) {
  num_states_ = 2 * static_cast<int64_t>(labels.size()) + 1;
  padded_ = CtcPadded(num_states_);
  state_classes_.assign(num_states_, 0);
  skip_weight_.assign(padded_ + kEdge, kCtcLogZero);
  // The cells after the states keep the value set here, ln 0.
  emission_.assign(padded_, kCtcLogZero);
  for (std::vector<double>& row : backward_) {
    row.assign(padded_ + kEdge, kCtcLogZero);
  }
  shares_.resize(padded_);
  for (size_t i = 0; i < labels.size(); ++i) {
    state_classes_[2 * i + 1] = labels[i];
    // The blank between two labels may be skipped if they differ.
    if (i > 0 && labels[i] != labels[i - 1]) skip_weight_[2 * i + 1] = 0;
  }
}

void CtcLattice::SetEmission(const CtcFrames& frames, int64_t t) {
  const double* const y = log_softmax_.get() + t * frames.classes;
  for (int64_t s = 0; s < num_states_; ++s) {
    emission_[s] = y[state_classes_[s]];
  }
}

void CtcLattice::RunForward(const CtcFrames& frames) {
  for (int64_t t = 0; t < frames.count; ++t) {
    SetEmission(frames, t);
    double* const row = ForwardRow(t);
    std::fill_n(row - kEdge, kEdge, kCtcLogZero);
    if (t == 0) {
      std::fill_n(row, padded_, kCtcLogZero);
      std::copy_n(emission_.begin(), NumEnds(num_states_), row);
    } else {
      const double* const last = ForwardRow(t - 1);
      CtcAdvance(
          {last, last - 1, last - 2, skip_weight_.data(), emission_.data()},
          num_states_, row);
    }
  }
}

// Returns the row's first cell after the edge.
double* CtcLattice::ForwardRow(int64_t t) {
  return forward_.get() + t * (padded_ + kEdge) + kEdge;
}

// Implements equation 16 of Graves et al.: softmax minus each class's share.
void CtcLattice::WriteGradient(const CtcFrames& frames, int64_t t, double scale,
                               float* gradient) {
  std::fill(class_shares_.begin(), class_shares_.end(), 0);
  for (int64_t s = 0; s < num_states_; ++s) {
    class_shares_[state_classes_[s]] += shares_[s];
  }
  const double* const y = log_softmax_.get() + t * frames.classes;
  for (int64_t k = 0; k < frames.classes; ++k) {
    gradient[k] =
        static_cast<float>(scale * (std::exp(y[k]) - class_shares_[k]));
  }
}

}  // namespace ps
