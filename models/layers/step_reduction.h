// Layers that make one vector of a sequence: from [steps, batch, features] to
// [batch, features].
#ifndef MODELS_LAYERS_STEP_REDUCTION_H_
#define MODELS_LAYERS_STEP_REDUCTION_H_

#include <memory>

#include "models/layers/layer.h"

namespace ps {

// The mean over all steps, summed from the first to the last.
std::unique_ptr<Layer> NewMeanOfStepsLayer();

std::unique_ptr<Layer> NewLastStepLayer();

}  // namespace ps

#endif  // MODELS_LAYERS_STEP_REDUCTION_H_
