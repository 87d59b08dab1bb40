// A second implementation of the losses of the model zoo, in double, from the
// definitions of the operations. It shares only the layout of the flat vector.
#ifndef TESTS_MODELS_REFERENCE_MODELS_H_
#define TESTS_MODELS_REFERENCE_MODELS_H_

#include <cstdint>
#include <vector>

#include "common/batch.h"
#include "tensor/sequence_kernels.h"
#include "tests/tensor/reference_recurrent.h"

namespace ps {

// LeNet-5 with max pooling after ReLU, as in textbooks.
double ReferenceLenet5Loss(const std::vector<double>& weights,
                           const ExampleShape& example, const Batch& batch);

// hidden_units: as in the config.
double ReferenceMlpLoss(const std::vector<double>& weights,
                        const std::vector<int>& hidden_units,
                        const ExampleShape& example, const Batch& batch);

struct ReferenceLanguageModel {
  RecurrentShape recurrent;
  int64_t layers = 0;
  int64_t embedding_size = 0;
  bool tied_output = false;
};

// lstm_lm and char_lstm without dropout. They start from `states`, one for each
// layer, and update them.
double ReferenceLanguageModelLoss(const std::vector<double>& weights,
                                  const ReferenceLanguageModel& model,
                                  const ExampleShape& example,
                                  const Batch& batch,
                                  std::vector<ReferenceState>* states);

}  // namespace ps

#endif  // TESTS_MODELS_REFERENCE_MODELS_H_
