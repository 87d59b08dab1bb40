// Reads LSTM and GRU nodes. Those of one module, "/rnn/LSTM" and "/rnn/LSTM_1",
// become one layer of a config.

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "models/onnx/attributes.h"
#include "models/onnx/node_layers.h"
#include "models/onnx/recurrent_weights.h"

namespace ps {
namespace {

RecurrentConfig* ConfigOf(bool lstm, LayerConfig* layer) {
  return lstm ? layer->mutable_lstm() : layer->mutable_gru();
}

// Whether a node of this module and size is the next of a stack.
bool Continues(const LayerConfig& layer, bool lstm, const std::string& module,
               int64_t features, int64_t hidden) {
  if (lstm ? !layer.has_lstm() : !layer.has_gru()) return false;
  const RecurrentConfig& config = lstm ? layer.lstm() : layer.gru();
  return !module.empty() && layer.name() == module &&
         config.hidden() == hidden && features == hidden;
}

absl::Status CheckAttributes(const onnx::NodeProto& node, bool lstm) {
  const bool plain =
      StringAttribute(node, "direction", "forward") == "forward" &&
      IntegerAttribute(node, "layout", 0) == 0 &&
      IntegerAttribute(node, "input_forget", 0) == 0;
  const bool after_product =
      lstm || IntegerAttribute(node, "linear_before_reset", 0) != 0;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "activations" || attribute.name() == "clip") {
      return absl::UnimplementedError(
          absl::StrCat("it must have neither activations nor clip, but has ",
                       attribute.name()));
    }
  }
  if (plain && after_product) return absl::OkStatus();
  return absl::UnimplementedError(
      "it must run forward, over [steps, batch, features] (layout 0), and a "
      "GRU with linear_before_reset");
}

}  // namespace

absl::Status NodeLayers::ReadRecurrent(const onnx::NodeProto& node,
                                       ImportedValue* value, Layers* layers) {
  const bool lstm = node.op_type() == "LSTM";
  const int64_t gates = lstm ? 4 : 3;
  PS_RETURN_IF_ERROR(CheckAttributes(node, lstm));
  PS_ASSIGN_OR_RETURN(const OnnxTensor* const input, Weight(node, 1, 3));
  PS_ASSIGN_OR_RETURN(const OnnxTensor* const recurrent, Weight(node, 2, 3));
  const int64_t hidden = recurrent->shape[2];
  const int64_t rows = gates * hidden;
  const int64_t features = input->shape[2];
  if (input->shape != std::vector<int64_t>{1, rows, features} ||
      recurrent->shape != std::vector<int64_t>{1, rows, hidden}) {
    return absl::UnimplementedError(
        "its weights must be [1, gates x hidden, features] and [1, gates x "
        "hidden, hidden]");
  }
  std::vector<float> biases(2 * rows);
  if (node.input_size() > 3 && !node.input(3).empty()) {
    PS_ASSIGN_OR_RETURN(const OnnxTensor* const given, Weight(node, 3, 2));
    if (given->shape != std::vector<int64_t>{1, 2 * rows}) {
      return absl::UnimplementedError(
          "its bias must be [1, 2 x gates x hidden]");
    }
    biases = given->floats;
  }
  for (int i = 4; i < node.input_size(); ++i) {
    // These inputs are lengths, two states and peepholes.
    if (!node.input(i).empty() && (i == 4 || !IsZero(node.input(i)))) {
      return absl::UnimplementedError(
          absl::StrCat("input ", i,
                       " must be missing or zero: every batch of an inference "
                       "starts from a state of zeros"));
    }
  }
  // Steps are the first dimension, or the second of the network's input.
  if (value->kind == ImportedValue::Kind::kRows ||
      swapped_.value_or(value->swapped) != value->swapped) {
    return absl::UnimplementedError(
        "its input must be [steps, batch, features], with the same steps as "
        "those of other recurrent layers");
  }
  swapped_ = value->swapped;
  value->kind = ImportedValue::Kind::kDirections;
  value->channels = hidden;

  const std::string module = ModuleName(node);
  double dropout = 0;
  size_t previous = layers->size();
  if (previous > 1 && layers->back().config.has_dropout()) {
    dropout = layers->back().config.dropout();
    --previous;
  }
  int index = 0;
  if (previous > 0 && Continues((*layers)[previous - 1].config, lstm, module,
                                features, hidden)) {
    layers->resize(previous);
    RecurrentConfig& stack = *ConfigOf(lstm, &layers->back().config);
    index = stack.layers();
    stack.set_layers(index + 1);
    if (dropout > 0) stack.set_dropout(dropout);
  } else {
    layers->emplace_back().config.set_name(LayerName(node, 1));
    ConfigOf(lstm, &layers->back().config)
        ->set_hidden(static_cast<int32_t>(
            std::min<int64_t>(hidden, std::numeric_limits<int32_t>::max())));
  }
  const auto add = [&](const char* part, std::vector<int64_t> shape,
                       absl::Span<const float> values) {
    layers->back().tensors.push_back({absl::StrCat(part, "_l", index),
                                      std::move(shape), "F32",
                                      FromOnnxGates(values, lstm)});
  };
  add("weight_ih", {rows, features}, input->floats);
  add("weight_hh", {rows, hidden}, recurrent->floats);
  add("bias_ih", {rows}, absl::MakeConstSpan(biases).subspan(0, rows));
  add("bias_hh", {rows}, absl::MakeConstSpan(biases).subspan(rows));
  return absl::OkStatus();
}

}  // namespace ps
