// The options of architectures that end in wide linear layers.
#ifndef MODELS_ZOO_CLASSIFIER_CONFIG_H_
#define MODELS_ZOO_CLASSIFIER_CONFIG_H_

#include "absl/status/status.h"
#include "proto/model_config.pb.h"

namespace ps {

// Errors: kInvalidArgument, for what the config's check would also report.
absl::Status CheckClassifier(const ClassifierConfig& config);

}  // namespace ps

#endif  // MODELS_ZOO_CLASSIFIER_CONFIG_H_
