// Graphs as exporters write them, and as they must not be: what is left around
// layers, names, values in other files, and files of other formats.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/import.h"
#include "proto/onnx.pb.h"
#include "tests/models/onnx_attributes.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A graph under construction, from "x" to "y".
class Graph {
 public:
  using Names = std::vector<std::string>;

  explicit Graph(const std::vector<int64_t>& input, bool integers = false) {
    graph().add_output()->set_name("y");
    onnx::ValueInfoProto& x = *graph().add_input();
    x.set_name("x");
    auto& type = *x.mutable_type()->mutable_tensor_type();
    type.set_elem_type(integers ? onnx::TensorProto::INT64
                                : onnx::TensorProto::FLOAT);
    for (const int64_t extent : input) {
      type.mutable_shape()->add_dim()->set_dim_value(extent);
    }
  }

  onnx::ModelProto& model() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  // A constant of 0.5, 1.5, 2.5, ...
  Graph& Floats(const std::string& name, const std::vector<int64_t>& shape) {
    onnx::TensorProto& tensor = Tensor(name, shape, onnx::TensorProto::FLOAT);
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    for (int64_t i = 0; i < size; ++i) {
      tensor.add_float_data(0.5f + static_cast<float>(i));
    }
    return *this;
  }

  Graph& Zeros(const std::string& name, const std::vector<int64_t>& shape) {
    Floats(name, shape);
    for (float& value :
         *graph().mutable_initializer()->rbegin()->mutable_float_data()) {
      value = 0;
    }
    return *this;
  }

  Graph& Integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto& tensor = Tensor(
        name, {static_cast<int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }

  // Without a name the node is called after its output.
  Graph& Node(const std::string& op, const Names& inputs,
              const std::string& output, const OnnxAttributes& attributes = {},
              const std::string& name = "") {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(op);
    node.set_name(name.empty() ? output : name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    for (const onnx::AttributeProto& attribute : attributes) {
      *node.add_attribute() = attribute;
    }
    return *this;
  }

  absl::StatusOr<ImportedNetwork> Import(const ReadBeside& read = {}) const {
    return ImportOnnx(model_.SerializeAsString(), read);
  }

  std::string Error() const {
    const auto network = Import();
    EXPECT_FALSE(network.ok());
    return std::string(network.status().message());
  }

  // The network in text format, on one line.
  std::string Layers() const {
    const auto network = Import();
    EXPECT_TRUE(network.ok()) << network.status();
    return network.ok() ? network->layers.ShortDebugString() : "";
  }

 private:
  onnx::TensorProto& Tensor(const std::string& name,
                            const std::vector<int64_t>& shape,
                            onnx::TensorProto::DataType type) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  }

  onnx::ModelProto model_;
};

// An LSTM with two features and one unit, of [5, 3] words, with these weights.
Graph WordLstm(const std::string& w, const std::string& state = "") {
  Graph g({5, 3}, /*integers=*/true);
  g.Floats("words.weight", {4, 2}).Floats("w", {4, 2}).Floats("w1", {1, 4, 2});
  g.Floats("r", {1, 4, 1}).Floats("b", {1, 8}).Integers("zero", {0});
  g.Integers("one", {1}).Integers("two", {2}).Integers("four", {4});
  g.Zeros("state", {1, 1, 1}).Floats("ones", {1, 3, 1});
  g.Node("Slice", {"w", "zero", "two", "zero"}, "w_front");
  g.Node("Slice", {"w", "two", "four", "zero"}, "w_back");
  g.Node("Concat", {"w_front", "w_back"}, "w_whole", {Int("axis", 0)});
  g.Node("Unsqueeze", {"w_whole", "zero"}, "w_joined");
  g.Node("Shape", {"x"}, "x_shape");
  g.Node("Gather", {"x_shape", "one"}, "batch");
  g.Node("Concat", {"one", "batch", "one"}, "state_shape", {Int("axis", 0)});
  g.Node("Expand", {"state", "state_shape"}, "states");
  g.Node("Gather", {"words.weight", "x"}, "embedded");
  g.Node("LSTM", {"embedded", w, "r", "b", "", state, state}, "h", {},
         "/rnn/LSTM");
  return g;
}

std::vector<float> ValuesOf(const absl::StatusOr<ImportedNetwork>& network,
                            const std::string& name) {
  EXPECT_TRUE(network.ok()) << network.status();
  if (!network.ok()) return {};
  for (const SafetensorsTensor& tensor : network->tensors) {
    if (tensor.name == name) return tensor.values;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(OnnxGraphs, RecurrentWeightsMayBeComputed) {
  for (const char* const weight : {"w1", "w_joined"}) {
    for (const char* const state : {"", "state", "states"}) {
      Graph g = WordLstm(weight, state);
      g.Node("Squeeze", {"h", "one"}, "y");
      // ONNX has the gates i, o, f, c, and PyTorch i, f, g (which is c), o.
      EXPECT_THAT(ValuesOf(g.Import(), "rnn.weight_ih_l0"),
                  ElementsAre(0.5f, 1.5f, 4.5f, 5.5f, 6.5f, 7.5f, 2.5f, 3.5f));
    }
  }
  Graph g = WordLstm("w1", "ones");
  g.Node("Squeeze", {"h", "one"}, "y");
  EXPECT_THAT(g.Error(), HasSubstr("input 5 must be missing or zero"));
}

TEST(OnnxGraphs, DirectionsMayBeMovedAndReshapedAway) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{5, 3, 1}, {5, 3, -1}, {0, 0, 1}, {-1, 3, 1}}) {
    Graph g = WordLstm("w1");
    g.Node("Transpose", {"h"}, "moved", {Ints("perm", {0, 2, 1, 3})});
    g.Integers("shape", shape).Node("Reshape", {"moved", "shape"}, "y");
    EXPECT_THAT(g.Layers(), HasSubstr("lstm { hidden: 1 }"))
        << absl::StrJoin(shape, ", ");
  }
  // The batch becomes the steps of a second layer, which nothing else does.
  Graph g = WordLstm("w1");
  g.Integers("shape", {3, 5, 1}).Node("Reshape", {"h", "shape"}, "mixed");
  g.Floats("w2", {1, 3, 1}).Floats("r2", {1, 3, 1});
  g.Node("GRU", {"mixed", "w2", "r2"}, "y", {Int("linear_before_reset", 1)});
  EXPECT_THAT(g.Error(), HasSubstr("its input must be [steps, batch, "));
  g = WordLstm("w1");
  g.Integers("shape", {5, 1, 3}).Node("Reshape", {"h", "shape"}, "y");
  EXPECT_THAT(g.Error(), HasSubstr("(Reshape): its shape is [5, 1, 3]; must be "
                                   "[steps, batch, 1]"));
  g = WordLstm("w1");
  g.Node("Tanh", {"h"}, "y");
  EXPECT_THAT(g.Error(), HasSubstr("a Squeeze of the directions must come"));
  g = WordLstm("w1");
  g.graph().mutable_output(0)->set_name("h");
  EXPECT_THAT(g.Error(), HasSubstr("a Squeeze of the directions must follow"));
}

TEST(OnnxGraphs, BatchesMayComeFirst) {
  const OnnxAttributes swap = {Ints("perm", {1, 0, 2})};
  Graph g({3, 5}, /*integers=*/true);
  g.Floats("words.weight", {4, 2}).Floats("w", {1, 3, 2});
  g.Floats("r", {1, 3, 1}).Floats("r2", {1, 3, 1}).Integers("one", {1});
  g.Node("Gather", {"words.weight", "x"}, "embedded");
  g.Node("Transpose", {"embedded"}, "steps_first", swap);
  const OnnxAttributes linear = {Int("linear_before_reset", 1)};
  g.Node("GRU", {"steps_first", "w", "r"}, "h", linear);
  g.Node("Squeeze", {"h", "one"}, "squeezed");
  g.Node("Transpose", {"squeezed"}, "y", swap);
  EXPECT_THAT(g.Layers(), HasSubstr("gru { hidden: 1 }"));
  // Another one runs over the batch.
  g.graph().mutable_node()->rbegin()->set_output(0, "batch_first");
  g.Node("GRU", {"batch_first", "r2", "r"}, "y", linear);
  EXPECT_THAT(g.Error(), HasSubstr("with the same steps as"));
}

// The steps of WordLstm, a scalar `index` and a layer of features.
Graph ClassOfWords(int64_t index) {
  Graph g = WordLstm("w1");
  g.Node("Squeeze", {"h", "one"}, "steps");
  g.Integers("index", {index}).Floats("out.weight", {3, 1});
  g.graph().mutable_initializer(g.graph().initializer_size() - 2)->clear_dims();
  g.Node("Gemm", {"reduced", "out.weight"}, "y", {Int("transB", 1)});
  return g;
}

TEST(OnnxGraphs, StepsBecomeTheLastOneOrTheirMean) {
  const auto put = [](Graph* g, const std::string& op,
                      const Graph::Names& inputs,
                      const OnnxAttributes& attributes) {
    g->Node(op, inputs, "reduced", attributes);
    // Before the layer that reads it.
    auto& nodes = *g->graph().mutable_node();
    nodes.SwapElements(nodes.size() - 2, nodes.size() - 1);
  };
  Graph g = ClassOfWords(-1);
  put(&g, "Gather", {"steps", "index"}, {Int("axis", 0)});
  EXPECT_THAT(g.Layers(), HasSubstr("last_step { }"));
  g = ClassOfWords(0);
  put(&g, "Gather", {"steps", "index"}, {Int("axis", 0)});
  EXPECT_THAT(g.Error(), HasSubstr("it must take the last step"));
  g = ClassOfWords(-1);
  put(&g, "Gather", {"steps", "index"}, {Int("axis", 1)});
  EXPECT_THAT(g.Error(), HasSubstr("it must take the last step"));
  g = ClassOfWords(-1);
  put(&g, "Gather", {"steps"}, {});
  EXPECT_THAT(g.Error(), HasSubstr("it must have two inputs"));
  const OnnxAttributes flat = {Ints("axes", {-3}), Int("keepdims", 0)};
  g = ClassOfWords(-1);
  put(&g, "ReduceMean", {"steps"}, flat);
  EXPECT_THAT(g.Layers(), HasSubstr("global_pooling { }"));
  for (const OnnxAttributes& wrong :
       {OnnxAttributes{Ints("axes", {0})},
        OnnxAttributes{Ints("axes", {1}), Int("keepdims", 0)}}) {
    g = ClassOfWords(-1);
    put(&g, "ReduceMean", {"steps"}, wrong);
    EXPECT_THAT(g.Error(), HasSubstr("over the steps of a sequence"));
  }
}

Graph Mlp(const std::vector<int64_t>& shape, int64_t features) {
  Graph g({2, 1, 6, 6});
  g.Floats("fc.weight", {10, features}).Integers("shape", shape);
  g.Node("Reshape", {"x", "shape"}, "flat");
  g.Node("Gemm", {"flat", "fc.weight"}, "y", {Int("transB", 1)});
  return g;
}

TEST(OnnxGraphs, AReshapeIsJudgedByItsInput) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{-1, 36}, {2, 36}, {0, -1}, {2, -1}, {0, 36}}) {
    EXPECT_THAT(Mlp(shape, 36).Layers(),
                HasSubstr("flatten { } } layer { name: \"fc\" linear"))
        << absl::StrJoin(shape, ", ");
  }
  EXPECT_THAT(Mlp({-1, 12}, 12).Error(),
              HasSubstr("node \"flat\" (Reshape) makes [batch, 12] of [batch, "
                        "1, 6, 6]; must be [batch, 36]"));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{6, -1}, {-1, -1}, {2, 0}, {2, 6, 6}, {72}}) {
    EXPECT_THAT(Mlp(shape, 36).Error(),
                HasSubstr("node \"flat\" (Reshape): its shape is ["))
        << absl::StrJoin(shape, ", ");
  }
  EXPECT_THAT(Mlp({-1, 36}, 35).Error(),
              HasSubstr("(Gemm): its weights are for 35 channels or features, "
                        "and its input is [batch, 36]"));
}

TEST(OnnxGraphs, WhatIsFlatAlreadyStaysSo) {
  Graph g({2, 3, 4, 4});
  g.Floats("fc.weight", {10, 3})
      .Integers("axes", {-1})
      .Integers("flat", {-1, 3});
  g.Node("GlobalAveragePool", {"x"}, "pooled").Node("Relu", {"pooled"}, "relu");
  g.Node("Squeeze", {"relu", "axes"}, "squeezed");
  g.Node("Squeeze", {"squeezed", "axes"}, "squeezed_twice");
  g.Node("Reshape", {"squeezed_twice", "flat"}, "reshaped");
  g.Node("Flatten", {"reshaped"}, "flattened");
  g.Node("Gemm", {"flattened", "fc.weight"}, "y", {Int("transB", 1)});
  EXPECT_THAT(g.Layers(), testing::StartsWith(
                              "layer { global_pooling { } } layer { "
                              "activation: \"relu\" } layer { name: \"fc\""));
  g.graph().mutable_node(0)->set_op_type("ReduceMean");
  g.graph().mutable_node(0)->add_input("mean_axes");
  g.Integers("mean_axes", {-1, 2});
  EXPECT_THAT(g.Layers(), testing::StartsWith("layer { global_pooling { } }"));
  // Between two Squeezes there are neither images nor features.
  g.graph().mutable_node(3)->set_op_type("Softplus");
  EXPECT_THAT(g.Error(), HasSubstr("a Flatten must come between it and"));
  Graph images({2, 3, 4, 4});
  images.Floats("conv.weight", {10, 3, 1, 1});
  images.Node("GlobalAveragePool", {"x"}, "pooled");
  images.Node("Conv", {"pooled", "conv.weight"}, "convolved");
  images.Node("Flatten", {"convolved"}, "y");
  EXPECT_THAT(images.Layers(),
              testing::StartsWith("layer { adaptive_pooling { output_size: 1 } "
                                  "} layer { name: \"conv\" convolution"));
}

TEST(OnnxGraphs, FeaturesAsInputAreFlattenedImages) {
  Graph g({2, 36});
  g.Floats("fc.weight", {10, 36});
  g.Node("Gemm", {"x", "fc.weight"}, "y", {Int("transB", 1)});
  EXPECT_THAT(g.Layers(), testing::StartsWith("layer { flatten { } }"));
  // Images without channels.
  Graph images({2, 6, 6});
  images.Floats("fc.weight", {10, 36}).Node("Flatten", {"x"}, "flat");
  images.Node("Gemm", {"flat", "fc.weight"}, "y", {Int("transB", 1)});
  EXPECT_THAT(images.Layers(), testing::StartsWith("layer { flatten { } }"));
}

TEST(OnnxGraphs, ABiasMayHaveExtentsOfOne) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{10}, {1, 10}, {1, 1, 10}}) {
    for (const bool first : {false, true}) {
      Graph g({2, 36});
      g.Floats("weight", {36, 10}).Floats("fc.bias", shape);
      g.Node("MatMul", {"x", "weight"}, "product");
      g.Node("Add",
             first ? Graph::Names{"fc.bias", "product"}
                   : Graph::Names{"product", "fc.bias"},
             "y");
      EXPECT_EQ(ValuesOf(g.Import(), "product.bias").back(), 9.5f);
    }
  }
  Graph g({2, 36});
  g.Floats("weight", {36, 10}).Floats("fc.bias", {10, 1});
  g.Node("MatMul", {"x", "weight"}, "product");
  g.Node("Add", {"product", "fc.bias"}, "y");
  EXPECT_THAT(g.Error(),
              HasSubstr("node \"y\" (Add): input 1, the bias, has the shape "
                        "[10, 1]; must be a constant of float32, a number for "
                        "each of the 10 channels or features"));
}

// Sequential numbers its layers: where one is folded away, the name of a later
// one is the position of another.
TEST(OnnxGraphs, LayersGetFreeNames) {
  Graph g({2, 1, 8, 8});
  g.Floats("0.weight", {2, 1, 3, 3}).Floats("4.weight", {2, 2, 3, 3});
  g.Floats("fc", {10, 8}).Node("Conv", {"x", "0.weight"}, "a");
  g.Node("Relu", {"a"}, "b").Node("Conv", {"b", "4.weight"}, "c");
  g.Node("Relu", {"c"}, "d")
      .Node("MaxPool", {"d"}, "e",
            {Ints("kernel_shape", {2, 2}), Ints("strides", {2, 2})});
  g.Node("Flatten", {"e"}, "f");
  g.Node("Gemm", {"f", "fc"}, "y", {Int("transB", 1)}, "not a name!");
  EXPECT_THAT(g.Layers(),
              AllOf(HasSubstr("name: \"0\" convolution"),
                    HasSubstr("name: \"4\" convolution"),
                    HasSubstr("name: \"max_pooling_4\" max_pooling"),
                    HasSubstr("name: \"linear_6\" linear")));
}

// What torch.onnx.export writes into field 9 of a node.
TEST(OnnxGraphs, ModulesAreReadFromMetadata) {
  Graph g = WordLstm("w1");
  onnx::NodeProto& lstm = *g.graph().mutable_node()->rbegin();
  lstm.set_name("node_LSTM_64");
  onnx::StringStringEntryProto entry;
  entry.set_key("pkg.torch.onnx.name_scopes");
  entry.set_value("['', 'model', 'model.rnn', 'lstm']");
  const std::string bytes = entry.SerializeAsString();
  *lstm.mutable_unknown_fields() = absl::StrCat(
      "\x4a", std::string(1, static_cast<char>(bytes.size())), bytes);
  g.Node("Squeeze", {"h", "one"}, "y");
  EXPECT_THAT(g.Layers(), HasSubstr("name: \"model.rnn\" lstm"));
}

TEST(OnnxGraphs, NodesThatChangeNothingAreLeftOut) {
  Graph g({2, 36});
  g.model().set_producer_name("pytorch");
  g.Floats("fc.weight", {10, 36}).Node("Identity", {"x"}, "a");
  g.Node("Cast", {"a"}, "b", {Int("to", 1)});
  g.Node("Gemm", {"b", "fc.weight"}, "c", {Int("transB", 1)});
  g.Node("LogSoftmax", {"c"}, "y");
  const auto network = g.Import();
  ASSERT_TRUE(network.ok()) << network.status();
  EXPECT_THAT(
      network->notes,
      ElementsAre("The network takes images and gives 10 outputs. It has 2 "
                  "layers (1 flatten, 1 linear) and 370 parameters.",
                  "Left out, because it changes nothing or the loss does it: 1 "
                  "Cast, 1 Identity, 1 LogSoftmax.",
                  HasSubstr("PyTorch's exporter leaves out Dropout in"),
                  HasSubstr("a flatten was put first")));
  g.graph().mutable_node(1)->mutable_attribute(0)->set_i(
      onnx::TensorProto::FLOAT16);
  EXPECT_THAT(g.Error(), HasSubstr("(Cast): it changes the type"));
}

TEST(OnnxGraphs, ConstantsDoNotGrowWithoutBound) {
  Graph g({2, 1 << 14});
  g.Floats("one", {1, 1}).Integers("shape", {1 << 14, 1 << 14});
  g.Node("Expand", {"one", "shape"}, "w");
  g.Node("MatMul", {"x", "w"}, "y");
  EXPECT_THAT(g.Error(), HasSubstr("several times larger than they are"));
  // Each node doubles what the one before it made.
  Graph doubling({2, 1});
  doubling.Floats("w0", {1, 1});
  for (int i = 0; i < 60; ++i) {
    const std::string from = absl::StrCat("w", i);
    doubling.Node("Concat", {from, from}, absl::StrCat("w", i + 1),
                  {Int("axis", 1)});
  }
  doubling.Node("MatMul", {"x", "w60"}, "y");
  EXPECT_THAT(doubling.Error(), HasSubstr("must be a constant of float32"));
}

// A linear layer whose weight lies in another file.
Graph External(const std::string& location, const std::string& offset,
               const std::string& length) {
  Graph g({2, 2});
  g.Floats("fc.weight", {1, 2});
  onnx::TensorProto& tensor = *g.graph().mutable_initializer(0);
  tensor.clear_float_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::make_pair("location", location), std::make_pair("offset", offset),
        std::make_pair("length", length)}) {
    if (value.empty()) continue;
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  g.Node("Gemm", {"x", "fc.weight"}, "y", {Int("transB", 1)});
  return g;
}

TEST(OnnxGraphs, WeightsMayLieInAnotherFile) {
  // -2 and 0.5, after four bytes.
  const std::string bytes("abcd\0\0\0\xc0\0\0\0\x3f", 12);
  const auto read =
      [&](const std::string& name) -> absl::StatusOr<std::string> {
    if (name == "net.data") return bytes;
    return absl::NotFoundError(absl::StrCat("no ", name));
  };
  for (const char* const length : {"8", ""}) {
    EXPECT_THAT(
        ValuesOf(External("net.data", "4", length).Import(read), "fc.weight"),
        ElementsAre(-2, 0.5f));
  }
  const auto error = [&](const Graph& graph) {
    return std::string(graph.Import(read).status().message());
  };
  for (const char* const path :
       {"../net.data", "/etc/passwd", "..", ".", "", "a/b"}) {
    EXPECT_THAT(error(External(path, "4", "8")),
                HasSubstr("must be the name of a file in the model's folder"))
        << path;
  }
  EXPECT_THAT(error(External("other.data", "4", "8")),
              AllOf(HasSubstr("tensor \"fc.weight\""), HasSubstr("no other")));
  for (const auto& [offset, length] :
       {std::make_pair("5", "8"), std::make_pair("-1", "8"),
        std::make_pair("4", "-8"), std::make_pair("13", "0"),
        std::make_pair("4", "9223372036854775807"), std::make_pair("x", "8")}) {
    EXPECT_THAT(error(External("net.data", offset, length)),
                HasSubstr("in net.data, which has 12 bytes"))
        << offset << " " << length;
  }
  EXPECT_THAT(error(External("net.data", "4", "4")),
              HasSubstr("it has 4 bytes of values; 2 values fit"));
  // The same bytes again and again are no more bytes.
  Graph again = External("net.data", "4", "8");
  *again.graph().add_initializer() = again.graph().initializer(0);
  again.graph().mutable_initializer(1)->set_name("other");
  EXPECT_THAT(error(again), HasSubstr("have all bytes of net.data"));
  EXPECT_THAT(External("net.data", "4", "8").Error(),
              HasSubstr("its values are in another file"));
}

TEST(OnnxGraphs, OtherFilesAreCalledByName) {
  const auto error = [](const std::string& bytes) {
    const auto network = ImportOnnx(bytes);
    EXPECT_EQ(network.status().code(), absl::StatusCode::kDataLoss);
    return std::string(network.status().message());
  };
  EXPECT_THAT(error("\xff\xd8\xff\xe0 JFIF"), HasSubstr("a JPEG image"));
  EXPECT_THAT(error("PK\x03\x04 net/data.pkl"), HasSubstr("torch.onnx.export"));
  EXPECT_THAT(error("\x80\x02}q"), HasSubstr("a pickle"));
  EXPECT_THAT(error("version https://git-lfs.github.com/spec/v1\n"),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(error("<!DOCTYPE html>"), HasSubstr("HTML"));
  EXPECT_THAT(error(std::string("\x10\0\0\0\0\0\0\0{\"a\":", 13)),
              HasSubstr("safetensors"));
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error("something else"), HasSubstr("not an ONNX model"));
  const std::string bytes = Mlp({-1, 36}, 36).model().SerializeAsString();
  ASSERT_GT(bytes.size(), 1500u);
  for (const size_t size : {1000u, 1499u}) {
    EXPECT_THAT(error(bytes.substr(0, size)),
                HasSubstr(absl::StrCat("the file is cut off: after its ", size,
                                       " bytes ", bytes.size() - size,
                                       " are missing")));
  }
}

}  // namespace
}  // namespace ps
