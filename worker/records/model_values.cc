#include "worker/records/model_values.h"

#include "common/data_description.h"
#include "tensor/tensor.h"

namespace ps {

std::vector<SafetensorsView> ViewsOf(const std::vector<ModelValues>& all) {
  std::vector<SafetensorsView> tensors;
  for (const ModelValues& values : all) {
    for (const ParameterInfo& info : *values.infos) {
      SafetensorsView tensor;
      tensor.name = info.name;
      tensor.shape = info.shape;
      tensor.values = {values.values + info.offset,
                       static_cast<size_t>(NumElements(info.shape))};
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

SafetensorsMetadata MetadataOf(const std::string& model,
                               const std::string& data) {
  SafetensorsMetadata metadata = {{"format", "pt"}, {"model", model}};
  if (!data.empty()) metadata[kDataMetadata] = data;
  return metadata;
}

}  // namespace ps
