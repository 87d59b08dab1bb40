// Reads attributes of a node of an ONNX graph, with their defaults. Values of
// another type count as missing.
#ifndef MODELS_ONNX_ATTRIBUTES_H_
#define MODELS_ONNX_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/onnx.pb.h"

namespace ps {

// Returns the attribute; null if the node has none of this name.
const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node,
                                          const std::string& name);
int64_t IntegerAttribute(const onnx::NodeProto& node, const char* name,
                         int64_t otherwise);
double FloatAttribute(const onnx::NodeProto& node, const char* name,
                      double otherwise);
std::vector<int64_t> IntegersAttribute(const onnx::NodeProto& node,
                                       const char* name);
std::string StringAttribute(const onnx::NodeProto& node, const char* name,
                            const char* otherwise);

}  // namespace ps

#endif  // MODELS_ONNX_ATTRIBUTES_H_
