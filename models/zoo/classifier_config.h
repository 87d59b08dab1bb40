// Checks the config of architectures that end in wide linear layers.
#ifndef MODELS_ZOO_CLASSIFIER_CONFIG_H_
#define MODELS_ZOO_CLASSIFIER_CONFIG_H_

#include "absl/status/status.h"
#include "proto/model_config.pb.h"

namespace ps {

// Errors: kInvalidArgument for values that the config's check would also
// reject.
absl::Status CheckClassifier(const ClassifierConfig& config);

}  // namespace ps

#endif  // MODELS_ZOO_CLASSIFIER_CONFIG_H_
