#include "models/layers/ctc_loss.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/labelled_sequences.h"
#include "common/status_macros.h"
#include "models/speech/ctc_decoding.h"
#include "models/speech/transcript_errors.h"
#include "tensor/backend.h"
#include "tensor/ctc_loss.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Returns the class of the space; negative if the alphabet has none.
int32_t SpaceClass(const std::string& alphabet) {
  const size_t found = alphabet.find(' ', 1);
  return found == std::string::npos ? -1 : static_cast<int32_t>(found);
}

class PlannedCtcLoss final : public PlannedLoss {
 public:
  PlannedCtcLoss(Backend* backend, std::unique_ptr<CtcLossOp> op,
                 const CtcLossOptions& options, const Shape& logits)
      : backend_(backend),
        op_(std::move(op)),
        frames_per_step_(options.frames_per_step),
        space_(SpaceClass(options.alphabet)),
        batch_(logits[1]),
        classes_(logits[2]),
        logits_shape_(logits),
        lengths_(batch_) {}

  absl::StatusOr<BatchResult> Run(const Batch& batch, const float* logits,
                                  float* dlogits) override {
    if (static_cast<int64_t>(batch.input_lengths.size()) != batch_) {
      return absl::InvalidArgumentError(
          absl::StrCat("a batch with ", batch.input_lengths.size(),
                       " input lengths for ", batch_, " recordings"));
    }
    for (int64_t i = 0; i < batch_; ++i) {
      if (batch.input_lengths[i] > batch.steps) {
        return absl::InvalidArgumentError(absl::StrCat(
            "example ", i, " of the batch has ", batch.input_lengths[i],
            " frames; there are ", batch.steps));
      }
      lengths_[i] = static_cast<int32_t>(
          (batch.input_lengths[i] + frames_per_step_ - 1) / frames_per_step_);
    }
    BatchResult result;
    result.examples = batch_;
    result.targets = batch_;
    PS_ASSIGN_OR_RETURN(
        result.loss,
        op_->Run(logits, {lengths_, batch.labels, batch.label_lengths},
                 dlogits));
    if (dlogits != nullptr) return result;
    // Decoding runs on the host, wherever the logits are.
    host_logits_.resize(NumElements(logits_shape_));
    PS_RETURN_IF_ERROR(backend_->CopyToHost(
        Tensor::View(const_cast<float*>(logits), logits_shape_),
        host_logits_.data()));
    CountErrors(batch, &result);
    return result;
  }

 private:
  // Adds the errors of the best path. The lengths have already been checked.
  void CountErrors(const Batch& batch, BatchResult* result) const {
    int64_t first = 0;
    for (int64_t i = 0; i < batch_; ++i) {
      RecordingOutputs recording;
      recording.outputs = host_logits_.data() + i * classes_;
      recording.frames = lengths_[i];
      recording.stride = batch_ * classes_;
      recording.classes = classes_;
      const TranscriptErrors errors =
          CompareTranscripts(DecodeBestPath(recording),
                             absl::MakeConstSpan(batch.labels)
                                 .subspan(first, batch.label_lengths[i]),
                             space_);
      first += batch.label_lengths[i];
      result->character_errors += errors.character_errors;
      result->characters += errors.characters;
      result->word_errors += errors.word_errors;
      result->words += errors.words;
    }
  }

  Backend* const backend_;  // Not owned.
  const std::unique_ptr<CtcLossOp> op_;
  const int64_t frames_per_step_;
  const int32_t space_;
  const int64_t batch_;
  const int64_t classes_;
  const Shape logits_shape_;        // [steps, batch, classes]
  std::vector<int32_t> lengths_;    // The lengths in steps of the logits.
  std::vector<float> host_logits_;  // The logits of the latest evaluation.
};

// Converts logits in a layout of the backend, since the loss needs them plain.
class PlannedPlainLoss final : public PlannedLoss {
 public:
  PlannedPlainLoss(std::unique_ptr<UnaryOp> reorder, Tensor logits,
                   std::unique_ptr<PlannedLoss> loss)
      : reorder_(std::move(reorder)),
        logits_(std::move(logits)),
        loss_(std::move(loss)) {}

  absl::StatusOr<BatchResult> Run(const Batch& batch, const float* logits,
                                  float* dlogits) override {
    PS_RETURN_IF_ERROR(reorder_->Forward(logits, logits_.data()));
    float* const gradient = dlogits == nullptr ? nullptr : logits_.data();
    PS_ASSIGN_OR_RETURN(BatchResult result,
                        loss_->Run(batch, logits_.data(), gradient));
    if (dlogits != nullptr) {
      PS_RETURN_IF_ERROR(
          reorder_->Backward(nullptr, nullptr, gradient, dlogits));
    }
    return result;
  }

 private:
  const std::unique_ptr<UnaryOp> reorder_;
  Tensor logits_;  // The logits, and later their gradient.
  const std::unique_ptr<PlannedLoss> loss_;
};

class CtcLoss final : public Loss {
 public:
  explicit CtcLoss(const CtcLossOptions& options) : options_(options) {}

  absl::Status CheckSequences(
      const LabelledSequences& recordings) const override {
    const int64_t frames_per_output = options_.frames_per_step;
    int64_t misfits = 0;
    std::string first;
    for (int64_t i = 0; i < recordings.size(); ++i) {
      const std::optional<int64_t> frames = recordings.num_steps(i);
      if (!frames.has_value()) continue;
      const int64_t outputs =
          (*frames + frames_per_output - 1) / frames_per_output;
      const int64_t needed = CtcFramesNeeded(recordings.labels(i));
      if (needed <= outputs) continue;
      if (++misfits > 1) continue;
      first =
          absl::StrCat(recordings.name(i), " has ", *frames, " frames, and so ",
                       outputs, " outputs; its transcript needs ", needed);
    }
    if (misfits == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        misfits, " of ", recordings.size(),
        " recordings are too short for their transcripts at ",
        frames_per_output, " frames an output: ", first,
        "; let the model take fewer frames an output, or leave them out"));
  }

  absl::StatusOr<std::unique_ptr<PlannedLoss>> Plan(
      const PlanContext& context, const ActivationDesc& logits) const override {
    if (logits.layout != nullptr) {
      PS_ASSIGN_OR_RETURN(std::unique_ptr<UnaryOp> reorder,
                          context.backend->nn().PlanReorder(logits));
      PS_ASSIGN_OR_RETURN(Tensor plain, context.Allocate(logits.shape));
      PS_ASSIGN_OR_RETURN(std::unique_ptr<PlannedLoss> loss,
                          Plan(context, reorder->output()));
      return std::make_unique<PlannedPlainLoss>(
          std::move(reorder), std::move(plain), std::move(loss));
    }
    PS_ASSIGN_OR_RETURN(std::unique_ptr<CtcLossOp> op,
                        context.backend->sequences().PlanCtcLoss(logits));
    return std::make_unique<PlannedCtcLoss>(context.backend, std::move(op),
                                            options_, logits.shape);
  }

 private:
  const CtcLossOptions options_;
};

}  // namespace

std::unique_ptr<Loss> NewCtcLoss(const CtcLossOptions& options) {
  return std::make_unique<CtcLoss>(options);
}

}  // namespace ps
