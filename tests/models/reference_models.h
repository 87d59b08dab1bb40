// The losses of the model zoo once more, in double, from the operations'
// definitions. Knows only the flat vector's layout.
#ifndef TESTS_MODELS_REFERENCE_MODELS_H_
#define TESTS_MODELS_REFERENCE_MODELS_H_

#include <vector>

#include "common/batch.h"

namespace ps {

// LeNet-5 with max pooling after ReLU, in the order of the textbooks.
double ReferenceLenet5Loss(const std::vector<double>& weights,
                           const ExampleShape& example, const Batch& batch);

// hidden_units: as in the config.
double ReferenceMlpLoss(const std::vector<double>& weights,
                        const std::vector<int>& hidden_units,
                        const ExampleShape& example, const Batch& batch);

}  // namespace ps

#endif  // TESTS_MODELS_REFERENCE_MODELS_H_
