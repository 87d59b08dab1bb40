// Reads nodes that change the shape of a value and not its elements. Their work
// must be part of the layers around them; then most of them become nothing.

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/layers/unary_layers.h"
#include "models/onnx/attributes.h"
#include "models/onnx/node_layers.h"

namespace ps {
namespace {

using Integers = std::vector<int64_t>;
using Kind = ImportedValue::Kind;

bool IsSequence(Kind kind) {
  return kind == Kind::kSequence || kind == Kind::kDirections ||
         kind == Kind::kMovedDirections || kind == Kind::kRows;
}

absl::Status WrongShape(const Integers& shape, const std::string& rule) {
  return absl::UnimplementedError(absl::StrCat(
      "its shape is [",
      absl::StrJoin(shape.begin(),
                    shape.begin() + std::min<size_t>(shape.size(), 9), ", "),
      "]; must be ", rule));
}

// Reads a Reshape of a sequence, whose rows stay if the last dimension does.
absl::Status ReshapeSequence(const Integers& shape, ImportedValue* value) {
  const std::string rule =
      absl::StrCat("[steps, batch, ", value->channels, "] or [steps x batch, ",
                   value->channels, "]");
  if (shape.size() != 2 && shape.size() != 3) return WrongShape(shape, rule);
  const int64_t steps = value->extents[value->swapped ? 1 : 0];
  const int64_t batch = value->extents[value->swapped ? 0 : 1];
  const int64_t known_rows = steps * batch;  // 0 if not known.
  const bool same_rows =
      shape.size() == 2
          ? shape[0] == known_rows && known_rows > 0
          : shape[0] == steps && shape[1] == batch && known_rows > 0;
  // 0 copies a dimension of the input, which may be the one of the directions.
  const auto may_be = [&](int i, int64_t extent) {
    const bool copies = shape[i] == 0 && value->kind != Kind::kRows &&
                        (i == 0 || value->kind != Kind::kDirections);
    return shape[i] == -1 || copies || (extent > 0 && shape[i] == extent);
  };
  const bool whole = shape.size() == 3 && may_be(0, steps) && may_be(1, batch);
  if (shape.back() != value->channels &&
      !(shape.back() == -1 && (same_rows || whole))) {
    return WrongShape(shape, rule);
  }
  value->kind = whole ? Kind::kSequence : Kind::kRows;
  return absl::OkStatus();
}

}  // namespace

absl::Status NodeLayers::ReadReshape(const onnx::NodeProto& node,
                                     ImportedValue* value, Layers* layers) {
  // A Flatten keeps the batch and joins all other dimensions.
  Integers shape = {0, -1};
  bool computed = false;
  if (node.op_type() == "Reshape") {
    const OnnxTensor* const given =
        node.input_size() > 1 ? graph_.Constant(node.input(1)) : nullptr;
    computed = given == nullptr;
    if (!computed) shape = given->integers;
    if (IntegerAttribute(node, "allowzero", 0) != 0 &&
        std::count(shape.begin(), shape.end(), 0) > 0) {
      return WrongShape(shape, "without 0");
    }
  } else if (IntegerAttribute(node, "axis", 1) != 1) {
    return absl::UnimplementedError("its axis must be 1");
  }
  // Images without channels have the shape of a sequence.
  const bool is_image = value->kind == Kind::kSequence && layers->empty() &&
                        !computed && shape.size() == 2 &&
                        shape[1] != value->channels;
  if (IsSequence(value->kind) && !is_image) {
    // The weights of the next layer check a shape that the graph computes.
    if (!computed) return ReshapeSequence(shape, value);
    value->kind = value->kind == Kind::kDirections ||
                          value->kind == Kind::kMovedDirections
                      ? Kind::kSequence
                      : Kind::kRows;
    return absl::OkStatus();
  }
  if (value->kind == Kind::kTokens) {
    return absl::UnimplementedError(
        "words and characters must stay [steps, batch]");
  }
  // All dimensions but the batch become one. Where the graph computes the
  // shape, as of x.view(x.size(0), -1), weights check it, too.
  int64_t features = 0;
  if (!computed) {
    if (shape.size() != 2) return WrongShape(shape, "[batch, features]");
    features = std::max<int64_t>(shape[1], 0);
    const bool is_batch =
        shape[0] == 0 || (shape[0] > 0 && shape[0] == value->extents[0]);
    if (features == 0 && !(shape[1] == -1 && is_batch)) {
      return WrongShape(shape, "[batch, features]");
    }
  }
  if (value->kind == Kind::kPooled || value->kind == Kind::kFeatures) {
    if (features != 0 && value->channels != 0 && features != value->channels) {
      return WrongShape(shape, absl::StrCat("[batch, ", value->channels, "]"));
    }
  } else {
    ImportedLayer& layer = layers->emplace_back();
    layer.config.mutable_flatten();
    layer.features = features;
    value->channels = features;
  }
  value->kind = Kind::kFeatures;
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadSqueeze(const onnx::NodeProto& node,
                                     ImportedValue* value) {
  Integers axes = IntegersAttribute(node, "axes");
  if (node.input_size() > 1) {
    const OnnxTensor* const given = graph_.Constant(node.input(1));
    if (given == nullptr) {
      return absl::UnimplementedError("its axes must be constant");
    }
    axes = given->integers;
  }
  if (value->kind == Kind::kDirections &&
      (axes == Integers{1} || axes == Integers{-3})) {
    value->kind = Kind::kSequence;
    return absl::OkStatus();
  }
  if (value->kind == Kind::kMovedDirections &&
      (axes == Integers{2} || axes == Integers{-2})) {
    value->kind = Kind::kSequence;
    return absl::OkStatus();
  }
  const int64_t rank = 2 + value->pooled_extents;
  const bool behind_channels =
      std::all_of(axes.begin(), axes.end(), [rank](int64_t axis) {
        return axis < rank && (axis < 0 ? axis + rank : axis) >= 2;
      });
  if (value->kind != Kind::kPooled || !behind_channels ||
      axes.size() > static_cast<size_t>(value->pooled_extents)) {
    return absl::UnimplementedError(
        "it must remove the directions of an LSTM or GRU, or height and width "
        "after a global pooling");
  }
  value->pooled_extents -=
      axes.empty() ? value->pooled_extents : static_cast<int>(axes.size());
  if (value->pooled_extents == 0) value->kind = Kind::kFeatures;
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadTranspose(const onnx::NodeProto& node,
                                       ImportedValue* value) {
  const Integers perm = IntegersAttribute(node, "perm");
  if (value->kind == Kind::kDirections && perm == Integers{0, 2, 1, 3}) {
    value->kind = Kind::kMovedDirections;
    return absl::OkStatus();
  }
  if ((value->kind == Kind::kSequence && perm == Integers{1, 0, 2}) ||
      (value->kind == Kind::kTokens && perm == Integers{1, 0})) {
    value->swapped = !value->swapped;
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      "it must swap the steps and the batch of a sequence");
}

absl::Status NodeLayers::ReadCast(const onnx::NodeProto& node,
                                  const ImportedValue& value) {
  const int64_t to = IntegerAttribute(node, "to", 0);
  const bool same =
      value.kind == Kind::kTokens
          ? to == onnx::TensorProto::INT64 || to == onnx::TensorProto::INT32
          : to == onnx::TensorProto::FLOAT && value.kind != Kind::kUnknown;
  if (!same) {
    return absl::UnimplementedError(
        "it changes the type of a value; networks compute in float32");
  }
  ++left_out_[node.op_type()];
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadGlobalPooling(const onnx::NodeProto& node,
                                           ImportedValue* value,
                                           Layers* layers) {
  const bool sequence = value->kind == Kind::kSequence;
  value->kind = Kind::kPooled;
  value->pooled_extents = 2;
  if (node.op_type() == "ReduceMean") {
    Integers axes = IntegersAttribute(node, "axes");
    if (node.input_size() > 1 && graph_.IsConstant(node.input(1))) {
      axes = graph_.Constant(node.input(1))->integers;
    }
    const int64_t extents = sequence ? 3 : 4;
    for (int64_t& axis : axes) axis += axis < 0 ? extents : 0;
    std::sort(axes.begin(), axes.end());
    const bool keeps = IntegerAttribute(node, "keepdims", 1) != 0;
    if (sequence ? keeps || axes != Integers{StepsAxis(*value)}
                 : axes != Integers{2, 3}) {
      return absl::UnimplementedError(
          "must be over height and width, or over the steps of a sequence "
          "without keeping their size");
    }
    if (!keeps) value->kind = Kind::kFeatures;
  } else if (sequence) {
    return absl::UnimplementedError("must be over height and width");
  }
  layers->emplace_back().config.mutable_global_pooling();
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadLastStep(const onnx::NodeProto& node,
                                      ImportedValue* value, Layers* layers) {
  const OnnxTensor* const index = graph_.Constant(node.input(1));
  const int64_t axis = IntegerAttribute(node, "axis", 0);
  if (value->kind != Kind::kSequence || index == nullptr ||
      !index->shape.empty() || index->integers != Integers{-1} ||
      (axis < 0 ? axis + 3 : axis) != StepsAxis(*value)) {
    return absl::UnimplementedError(
        "it must take the last step, number -1, of a sequence");
  }
  value->kind = Kind::kFeatures;
  layers->emplace_back().config.mutable_last_step();
  return absl::OkStatus();
}

absl::Status NodeLayers::CheckKind(const onnx::NodeProto& node,
                                   ImportedValue* value, Layers* layers) {
  const auto is_one_of = [&](std::initializer_list<const char*> operators) {
    return std::find(operators.begin(), operators.end(), node.op_type()) !=
           operators.end();
  };
  if ((value->kind == Kind::kDirections ||
       value->kind == Kind::kMovedDirections) &&
      !is_one_of({"Squeeze", "Reshape", "Transpose", "Identity"})) {
    return absl::UnimplementedError(
        "a Squeeze of the directions must come between it and an LSTM or GRU");
  }
  if (value->kind == Kind::kPooled &&
      !is_one_of(
          {"Flatten", "Reshape", "Squeeze", "Identity", "Cast", "Dropout"}) &&
      std::none_of(std::begin(kActivations), std::end(kActivations),
                   [&node](const NamedActivation& each) {
                     return node.op_type() == each.onnx_operator;
                   })) {
    // As the output of an adaptive pooling, the same means are still images.
    const auto pooling = std::find_if(
        layers->rbegin(), layers->rend(), [](const ImportedLayer& layer) {
          return layer.config.has_global_pooling();
        });
    if (pooling == layers->rend() || value->pooled_extents != 2) {
      return absl::UnimplementedError(
          "a Flatten must come between it and a global pooling");
    }
    pooling->config.mutable_adaptive_pooling()->add_output_size(1);
    value->kind = Kind::kImages;
  }
  return absl::OkStatus();
}

}  // namespace ps
