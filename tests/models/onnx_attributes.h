// Attributes of nodes, for tests that build ONNX graphs.
#ifndef TESTS_MODELS_ONNX_ATTRIBUTES_H_
#define TESTS_MODELS_ONNX_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/onnx.pb.h"

namespace ps {

using OnnxAttributes = std::vector<onnx::AttributeProto>;

inline onnx::AttributeProto Int(const std::string& name, int64_t value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_i(value);
  return attribute;
}

inline onnx::AttributeProto Ints(const std::string& name,
                                 const std::vector<int64_t>& values) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  for (const int64_t value : values) attribute.add_ints(value);
  return attribute;
}

}  // namespace ps

#endif  // TESTS_MODELS_ONNX_ATTRIBUTES_H_
