// Nodes of constants: their values are numpy's, and what would be too large is
// not made.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/constant_folding.h"
#include "proto/onnx.pb.h"
#include "tests/models/onnx_attributes.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMost = 1000;

OnnxTensor Floats(std::vector<int64_t> shape, std::vector<float> values) {
  OnnxTensor tensor;
  tensor.shape = std::move(shape);
  tensor.floats = std::move(values);
  return tensor;
}

OnnxTensor Integers(std::vector<int64_t> values) {
  OnnxTensor tensor;
  tensor.shape = {static_cast<int64_t>(values.size())};
  tensor.integers = std::move(values);
  return tensor;
}

// np.arange(6).reshape(2, 3)
OnnxTensor Matrix() { return Floats({2, 3}, {0, 1, 2, 3, 4, 5}); }

// The value of a ConstantOfShape: a 4.
onnx::AttributeProto Fill(onnx::TensorProto::DataType type) {
  onnx::AttributeProto attribute;
  attribute.set_name("value");
  attribute.mutable_t()->add_dims(1);
  attribute.mutable_t()->set_data_type(type);
  if (type == onnx::TensorProto::FLOAT) {
    attribute.mutable_t()->add_float_data(4);
  } else {
    attribute.mutable_t()->add_double_data(4);
  }
  return attribute;
}

// The outputs of a node.
std::optional<std::vector<OnnxTensor>> Fold(
    const std::string& op, std::vector<OnnxTensor> inputs,
    const OnnxAttributes& attributes = {}, int outputs = 1,
    int64_t most = kMost, bool* too_large = nullptr) {
  onnx::NodeProto node;
  for (const onnx::AttributeProto& attribute : attributes) {
    *node.add_attribute() = attribute;
  }
  node.set_op_type(op);
  for (int i = 0; i < outputs; ++i) node.add_output("y");
  std::vector<const OnnxTensor*> pointers;
  for (const OnnxTensor& input : inputs) pointers.push_back(&input);
  bool ignored = false;
  return FoldNode(node, pointers, most,
                  too_large == nullptr ? &ignored : too_large);
}

void ExpectFloats(const std::optional<std::vector<OnnxTensor>>& outputs,
                  const std::vector<int64_t>& shape,
                  const std::vector<float>& values) {
  ASSERT_TRUE(outputs.has_value());
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ((*outputs)[0].shape, shape);
  EXPECT_EQ((*outputs)[0].floats, values);
  EXPECT_THAT((*outputs)[0].integers, IsEmpty());
}

TEST(ConstantFolding, ComputesWhatNumpyDoes) {
  // x.T
  ExpectFloats(Fold("Transpose", {Matrix()}), {3, 2}, {0, 3, 1, 4, 2, 5});
  // x.reshape(1, 2, 3).transpose(2, 0, 1)
  ExpectFloats(Fold("Transpose", {Floats({1, 2, 3}, {0, 1, 2, 3, 4, 5})},
                    {Ints("perm", {2, 0, 1})}),
               {3, 1, 2}, {0, 3, 1, 4, 2, 5});
  // x[:, 1:3]
  ExpectFloats(
      Fold("Slice", {Matrix(), Integers({1}), Integers({3}), Integers({1})}),
      {2, 2}, {1, 2, 4, 5});
  // x[-1:, ::-2]; -2^63 stands for an end before the first.
  ExpectFloats(Fold("Slice", {Matrix(), Integers({-1, -1}),
                              Integers({INT64_MAX, INT64_MIN}),
                              Integers({0, -1}), Integers({1, -2})}),
               {1, 2}, {5, 3});
  // As opset 9 has it.
  ExpectFloats(
      Fold("Slice", {Matrix()}, {Ints("starts", {1}), Ints("ends", {9})}),
      {1, 3}, {3, 4, 5});
  // x[2:1]
  ExpectFloats(Fold("Slice", {Matrix(), Integers({2}), Integers({1})}), {0, 3},
               {});
  // np.concatenate([x, x[:, :1]], 1)
  ExpectFloats(
      Fold("Concat", {Matrix(), Floats({2, 1}, {0, 3})}, {Int("axis", -1)}),
      {2, 4}, {0, 1, 2, 0, 3, 4, 5, 3});
  // x[None, :, None], and back.
  ExpectFloats(Fold("Unsqueeze", {Matrix(), Integers({0, -2})}), {1, 2, 1, 3},
               {0, 1, 2, 3, 4, 5});
  ExpectFloats(Fold("Squeeze", {Floats({1, 2, 1}, {7, 8}), Integers({-1})}),
               {1, 2}, {7, 8});
  ExpectFloats(Fold("Squeeze", {Floats({1, 2, 1}, {7, 8})}), {2}, {7, 8});
  // x.reshape(3, -1); 0 takes an extent of x.
  ExpectFloats(Fold("Reshape", {Matrix(), Integers({3, -1})}), {3, 2},
               {0, 1, 2, 3, 4, 5});
  ExpectFloats(Fold("Reshape", {Matrix(), Integers({0, 1, -1})}), {2, 1, 3},
               {0, 1, 2, 3, 4, 5});
  // np.broadcast_to(x[:, :1], (2, 2, 2))
  ExpectFloats(Fold("Expand", {Floats({2, 1}, {0, 3}), Integers({2, 1, 2})}),
               {2, 2, 2}, {0, 0, 3, 3, 0, 0, 3, 3});
  // x[:, [2, -3]] and x[1].
  ExpectFloats(Fold("Gather", {Matrix(), Integers({2, -3})}, {Int("axis", 1)}),
               {2, 2}, {2, 0, 5, 3});
  OnnxTensor one = Integers({1});
  one.shape.clear();
  ExpectFloats(Fold("Gather", {Matrix(), one}), {3}, {3, 4, 5});
  // np.full((2, 1), 4)
  ExpectFloats(Fold("ConstantOfShape", {Integers({2, 1})},
                    {Fill(onnx::TensorProto::FLOAT)}),
               {2, 1}, {4, 4});
  ExpectFloats(Fold("ConstantOfShape", {Integers({2})}), {2}, {0, 0});
  ExpectFloats(Fold("Cast", {Integers({-3, 4})}, {Int("to", 1)}), {2}, {-3, 4});
}

TEST(ConstantFolding, ShapesAndPartsAreComputed) {
  auto shape = Fold("Shape", {Floats({4, 0, 7}, {})}, {Int("start", -2)});
  ASSERT_TRUE(shape.has_value());
  EXPECT_THAT((*shape)[0].integers, ElementsAre(0, 7));
  auto integers = Fold("Cast", {Floats({2}, {-2.75f, 9})}, {Int("to", 7)});
  ASSERT_TRUE(integers.has_value());
  EXPECT_THAT((*integers)[0].integers, ElementsAre(-2, 9));
  // np.split(x, [1], 1)
  auto parts = Fold("Split", {Matrix(), Integers({1, 2})}, {Int("axis", 1)},
                    /*outputs=*/2);
  ASSERT_TRUE(parts.has_value());
  EXPECT_THAT((*parts)[0].floats, ElementsAre(0, 3));
  EXPECT_THAT((*parts)[1].floats, ElementsAre(1, 2, 4, 5));
  // np.array_split(x, 2, 1)
  parts = Fold("Split", {Matrix()}, {Int("axis", 1)}, 2);
  ASSERT_TRUE(parts.has_value());
  EXPECT_THAT((*parts)[0].floats, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT((*parts)[1].floats, ElementsAre(2, 5));
}

TEST(ConstantFolding, WhatDoesNotFitIsNotConstant) {
  EXPECT_FALSE(Fold("Add", {Matrix(), Matrix()}));
  EXPECT_FALSE(Fold("Transpose", {Matrix()}, {Ints("perm", {0, 0})}));
  EXPECT_FALSE(Fold("Transpose", {Matrix()}, {Ints("perm", {1})}));
  EXPECT_FALSE(
      Fold("Slice", {Matrix(), Integers({0}), Integers({1}), Integers({2})}));
  EXPECT_FALSE(Fold("Slice", {Matrix(), Integers({0, 0}), Integers({1, 1}),
                              Integers({1, -1})}));
  EXPECT_FALSE(Fold("Slice", {Matrix(), Integers({0}), Integers({1}),
                              Integers({1}), Integers({0})}));
  EXPECT_FALSE(
      Fold("Concat", {Matrix(), Floats({3, 1}, {1, 2, 3})}, {Int("axis", 1)}));
  EXPECT_FALSE(Fold("Concat", {Integers({1}), Floats({1}, {1})}));
  EXPECT_FALSE(Fold("Reshape", {Matrix(), Integers({4, -1})}));
  EXPECT_FALSE(Fold("Reshape", {Matrix(), Integers({-1, -1})}));
  EXPECT_FALSE(Fold("Squeeze", {Matrix(), Integers({0})}));
  EXPECT_FALSE(Fold("Unsqueeze", {Matrix(), Integers({1, 1})}));
  EXPECT_FALSE(Fold("Expand", {Matrix(), Integers({2, 2})}));
  EXPECT_FALSE(Fold("Gather", {Matrix(), Integers({2})}));
  EXPECT_FALSE(Fold("Split", {Matrix(), Integers({1, 1})}, {}, 1));
  EXPECT_FALSE(Fold("Split", {Matrix(), Integers({1, 2})}, {}, 2));
  EXPECT_FALSE(Fold("ConstantOfShape", {Integers({-1})}));
  EXPECT_FALSE(Fold("ConstantOfShape", {Integers({2})},
                    {Fill(onnx::TensorProto::DOUBLE)}));
  EXPECT_FALSE(Fold("Cast", {Floats({1}, {1e30f})}, {Int("to", 7)}));
  EXPECT_FALSE(
      Fold("Expand", {Matrix(), Integers(std::vector<int64_t>(2000, 1))}));
  // Values of another type, as of a double.
  EXPECT_FALSE(Fold("Transpose", {Floats({2, 3}, {})}));
}

TEST(ConstantFolding, NothingLargeIsMade) {
  const int64_t huge = int64_t{1} << 30;
  for (const auto& [op, shape] :
       {std::make_pair("Expand", std::vector<int64_t>{huge, 2, 3}),
        std::make_pair("Expand", std::vector<int64_t>{1000, 2, 3}),
        std::make_pair("Expand", std::vector<int64_t>{INT64_MAX, 2, 3}),
        std::make_pair("ConstantOfShape", std::vector<int64_t>{huge}),
        std::make_pair("ConstantOfShape",
                       std::vector<int64_t>{0, INT64_MAX, INT64_MAX})}) {
    std::vector<OnnxTensor> inputs;
    if (std::string(op) == "Expand") inputs.push_back(Matrix());
    inputs.push_back(Integers(shape));
    EXPECT_FALSE(Fold(op, inputs)) << op << shape[0];
  }
  bool too_large = false;
  EXPECT_TRUE(
      Fold("Expand", {Matrix(), Integers({2, 2, 3})}, {}, 1, 12, &too_large));
  EXPECT_FALSE(too_large);
  EXPECT_FALSE(
      Fold("Expand", {Matrix(), Integers({2, 2, 3})}, {}, 1, 11, &too_large));
  EXPECT_TRUE(too_large);
  too_large = false;
  EXPECT_FALSE(
      Fold("Cast", {Integers({1, 2})}, {Int("to", 1)}, 1, 1, &too_large));
  EXPECT_TRUE(too_large);
}

}  // namespace
}  // namespace ps
