// CTC as the loss of a model.
#ifndef MODELS_LAYERS_CTC_LOSS_H_
#define MODELS_LAYERS_CTC_LOSS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "models/layers/loss.h"

namespace ps {

struct CtcLossOptions {
  // The alphabet of ExampleShape. Its space separates words.
  std::string alphabet;
  // The frames of the recording for each step of the logits; a shorter last
  // group of frames also has a step.
  int64_t frames_per_step = 1;
};

// Creates the loss of tensor/ctc_loss.h. logits: [steps, batch, classes], with
// batches of speech. Runs without a gradient, as in evaluation, also decode the
// best path and count errors.
std::unique_ptr<Loss> NewCtcLoss(const CtcLossOptions& options);

}  // namespace ps

#endif  // MODELS_LAYERS_CTC_LOSS_H_
