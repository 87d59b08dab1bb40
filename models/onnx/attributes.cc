#include "models/onnx/attributes.h"

namespace ps {

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node,
                                          const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t IntegerAttribute(const onnx::NodeProto& node, const char* name,
                         int64_t otherwise) {
  const onnx::AttributeProto* const attribute = FindAttribute(node, name);
  return attribute != nullptr && attribute->has_i() ? attribute->i()
                                                    : otherwise;
}

double FloatAttribute(const onnx::NodeProto& node, const char* name,
                      double otherwise) {
  const onnx::AttributeProto* const attribute = FindAttribute(node, name);
  return attribute != nullptr && attribute->has_f() ? attribute->f()
                                                    : otherwise;
}

std::vector<int64_t> IntegersAttribute(const onnx::NodeProto& node,
                                       const char* name) {
  const onnx::AttributeProto* const attribute = FindAttribute(node, name);
  if (attribute == nullptr) return {};
  return std::vector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

std::string StringAttribute(const onnx::NodeProto& node, const char* name,
                            const char* otherwise) {
  const onnx::AttributeProto* const attribute = FindAttribute(node, name);
  return attribute != nullptr && attribute->has_s() ? attribute->s()
                                                    : otherwise;
}

}  // namespace ps
