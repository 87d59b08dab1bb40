// Names a model's values for files that other programs read.
#ifndef WORKER_RECORDS_MODEL_VALUES_H_
#define WORKER_RECORDS_MODEL_VALUES_H_

#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "tensor/parameter_info.h"

namespace ps {

// A model's weights or its statistics: the position of each tensor in `values`,
// which is host memory. Nothing is owned.
struct ModelValues {
  const std::vector<ParameterInfo>* infos = nullptr;
  const float* values = nullptr;
};

// Returns every tensor of every element, in order; valid as long as the values.
std::vector<SafetensorsView> ViewsOf(const std::vector<ModelValues>& all);

// Returns the metadata of a file with the values of the model of this name;
// `data` is the MeaningOfNumbers of its data set, or empty.
SafetensorsMetadata MetadataOf(const std::string& model,
                               const std::string& data);

}  // namespace ps

#endif  // WORKER_RECORDS_MODEL_VALUES_H_
