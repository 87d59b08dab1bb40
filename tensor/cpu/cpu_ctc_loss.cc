#include "tensor/cpu/cpu_ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_ctc_lattice.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CpuCtcLoss final : public CtcLossOp {
 public:
  CpuCtcLoss(ThreadPool* pool, const Shape& logits)
      : pool_(pool),
        steps_(logits[0]),
        batch_(logits[1]),
        classes_(logits[2]),
        first_label_(batch_ + 1),
        losses_(batch_) {
    const int64_t threads = std::min<int64_t>(batch_, pool->num_threads());
    for (int64_t i = 0; i < threads; ++i) {
      lattices_.push_back(std::make_unique<CtcLattice>(steps_, classes_));
    }
  }

  absl::StatusOr<double> Run(const float* logits, const CtcTargets& targets,
                             float* dlogits) override {
    PS_RETURN_IF_ERROR(Check(targets));
    int64_t longest = 0;
    for (int64_t i = 0; i < batch_; ++i) {
      longest = std::max(longest, first_label_[i + 1] - first_label_[i]);
    }
    for (const auto& lattice : lattices_) lattice->Reserve(longest);
    // There are at most as many chunks as lattices.
    const int64_t threads = static_cast<int64_t>(lattices_.size());
    pool_->ParallelFor(
        batch_, NumChunks(batch_, threads), [&](const ChunkRange& examples) {
          for (int64_t i = examples.begin; i < examples.end; ++i) {
            losses_[i] = RunExample(i, logits, targets, dlogits,
                                    lattices_[examples.index].get());
          }
        });
    double sum = 0;
    for (const double loss : losses_) sum += loss;
    return sum / static_cast<double>(batch_);
  }

 private:
  absl::Status Check(const CtcTargets& targets) {
    const size_t batch = static_cast<size_t>(batch_);
    if (targets.input_lengths.size() != batch ||
        targets.label_lengths.size() != batch) {
      return absl::InvalidArgumentError(
          absl::StrCat(targets.input_lengths.size(), " input lengths and ",
                       targets.label_lengths.size(),
                       " label lengths for a batch of ", batch_));
    }
    const int64_t num_labels = static_cast<int64_t>(targets.labels.size());
    for (int64_t i = 0; i < batch_; ++i) {
      const auto error = [i](const auto&... parts) {
        return absl::InvalidArgumentError(
            absl::StrCat("example ", i, " of the batch ", parts...));
      };
      const int64_t frames = targets.input_lengths[i];
      const int64_t length = targets.label_lengths[i];
      if (frames < 1 || frames > steps_) {
        return error("has ", frames, " frames; must be 1 to ", steps_);
      }
      if (length < 0 || length > num_labels - first_label_[i]) {
        return error("has ", length, " labels, of which ",
                     num_labels - first_label_[i], " are there");
      }
      first_label_[i + 1] = first_label_[i] + length;
      const absl::Span<const int32_t> labels =
          targets.labels.subspan(first_label_[i], length);
      for (const int32_t label : labels) {
        if (label < 1 || label >= classes_) {
          return error("has label ", label, "; must be 1 to ", classes_ - 1);
        }
      }
      const int64_t needed = CtcFramesNeeded(labels);
      if (needed > frames) {
        return error("has a transcript of ", length, " labels, ",
                     needed - length, " of them repeated, which needs ", needed,
                     " frames; there are ", frames);
      }
    }
    if (first_label_[batch_] != num_labels) {
      return absl::InvalidArgumentError(
          absl::StrCat(num_labels, " labels, but the lengths sum up to ",
                       first_label_[batch_]));
    }
    return absl::OkStatus();
  }

  double RunExample(int64_t i, const float* logits, const CtcTargets& targets,
                    float* dlogits, CtcLattice* lattice) const {
    CtcFrames frames;
    frames.logits = logits + i * classes_;
    frames.count = targets.input_lengths[i];
    frames.stride = batch_ * classes_;
    frames.classes = classes_;
    const double loss = lattice->Loss(
        frames,
        targets.labels.subspan(first_label_[i], targets.label_lengths[i]));
    if (dlogits == nullptr) return loss;
    float* const gradient = dlogits + i * classes_;
    if (!std::isnan(loss)) {
      lattice->Backward(frames, 1.0 / static_cast<double>(batch_), gradient);
    }
    const int64_t first_constant = std::isnan(loss) ? 0 : frames.count;
    for (int64_t t = first_constant; t < steps_; ++t) {
      std::fill_n(
          gradient + t * frames.stride, classes_,
          t < frames.count ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
    }
    return loss;
  }

  ThreadPool* const pool_;  // Not owned.
  const int64_t steps_;
  const int64_t batch_;
  const int64_t classes_;
  std::vector<int64_t> first_label_;  // [batch + 1], in targets.labels.
  std::vector<double> losses_;
  std::vector<std::unique_ptr<CtcLattice>> lattices_;  // One for each thread.
};

}  // namespace

absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCpuCtcLoss(
    ThreadPool* pool, const ActivationDesc& logits) {
  if (logits.shape.size() != 3 || logits.shape[0] < 1 || logits.shape[1] < 1 ||
      logits.shape[2] < 2 || logits.layout != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("CTC of ", ShapeString(logits.shape),
                     ": needs plain logits [steps, batch, classes], with a "
                     "blank and at least one more class"));
  }
  return std::make_unique<CpuCtcLoss>(pool, logits.shape);
}

}  // namespace ps
