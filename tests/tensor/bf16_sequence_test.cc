// Embeddings and recurrent layers with bfloat16, compared with the CPU
// (bf16_layers.h).

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/bf16_layers.h"

namespace ps {
namespace {

TEST_P(Bf16Layers, Embedding) {
  EmbeddingShape shape;
  shape.num_rows = 6;
  shape.features = 3;
  const ActivationDesc tokens = ActivationDesc::Plain({3, 3});
  const std::vector<float> numbers = {0, 5, 2, 2, 0, 2, 1, 5, 5};
  const std::vector<float> table = RandomValues(18, 1);
  const std::vector<float> dy = RandomBf16(27, 2);
  std::vector<std::vector<float>> gradients;
  for (Backend* const backend : {bf16_.get(), cpu_.get()}) {
    const auto op = backend->sequences().PlanEmbedding(shape, tokens);
    ASSERT_TRUE(op.ok()) << op.status();
    const ActivationDesc& output = (*op)->output();
    std::vector<float> y(output.num_floats), dtable(18, 1.0f);
    ASSERT_TRUE((*op)->Forward(numbers.data(), table.data(), y.data()).ok());
    const std::vector<float> plain = ToPlain(backend->nn(), output, y);
    for (int64_t i = 0; i < 27; ++i) {
      const float value =
          table[static_cast<int64_t>(numbers[i / 3]) * 3 + i % 3];
      EXPECT_EQ(plain[i],
                output.layout == nullptr ? value : float{Bfloat16(value)});
    }
    const std::vector<float> laid_dy = ToLayout(backend->nn(), output, dy);
    ASSERT_TRUE((*op)->AddGradient(laid_dy.data(), dtable.data()).ok());
    gradients.push_back(dtable);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

struct RecurrentResults {
  std::vector<float> y, dx, dinput, drecurrent, dinput_bias, drecurrent_bias;
};

// Two batches, where the second continues the first.
RecurrentResults RunRecurrent(Backend& backend, const RecurrentShape& shape,
                              const ActivationDesc& input) {
  const auto op = backend.sequences().PlanRecurrent(shape, input);
  EXPECT_TRUE(op.ok()) << op.status();
  if (!op.ok()) return {};
  const ActivationDesc& output = (*op)->output();
  const int64_t rows = shape.num_gates() * shape.hidden;
  const std::vector<float> weight_ih = RandomBf16(rows * input.shape[2], 3);
  const std::vector<float> weight_hh = RandomBf16(rows * shape.hidden, 4);
  const std::vector<float> bias_ih = RandomValues(rows, 5);
  const std::vector<float> bias_hh = RandomValues(rows, 6);
  RecurrentResults r;
  r.dinput.resize(weight_ih.size());
  r.drecurrent.resize(weight_hh.size());
  r.dinput_bias.resize(rows);
  r.drecurrent_bias.resize(rows);
  std::vector<float> y(output.num_floats), dx(input.num_floats);
  for (uint64_t batch = 0; batch < 2; ++batch) {
    const std::vector<float> x = ToLayout(
        backend.nn(), input, RandomBf16(NumElements(input.shape), 10 + batch));
    const std::vector<float> dy = ToLayout(
        backend.nn(), output, RandomBf16(NumElements(output.shape), 20));
    RecurrentOp::BackwardArguments b;
    b.x = x.data(), b.dy = dy.data(), b.dx = dx.data();
    b.weights = {weight_ih.data(), weight_hh.data(), bias_ih.data(),
                 bias_hh.data()};
    b.gradients = {r.dinput.data(), r.drecurrent.data(), r.dinput_bias.data(),
                   r.drecurrent_bias.data()};
    absl::Status status = (*op)->Forward(x.data(), b.weights, y.data());
    EXPECT_TRUE(status.ok()) << status;
    status = (*op)->Backward(b);
    EXPECT_TRUE(status.ok()) << status;
  }
  r.y = ToPlain(backend.nn(), output, y);
  r.dx = ToPlain(backend.nn(), input, dx);
  return r;
}

// The state that products read is rounded at each step, and so are the
// gradients of the gates. Each step passes on less than the whole error, so
// allowing one rounding for every step of both batches is more than enough.
TEST_P(Bf16Layers, RecurrentCells) {
  const Shape shape = {6, 3, 5};
  constexpr double kRoundings = 12;
  for (const auto cell :
       {RecurrentShape::Cell::kLstm, RecurrentShape::Cell::kGru}) {
    RecurrentShape recurrent;
    recurrent.cell = cell;
    recurrent.hidden = 7;
    const ActivationDesc plain = ActivationDesc::Plain(shape);
    const RecurrentResults expected = RunRecurrent(*cpu_, recurrent, plain);
    for (const ActivationDesc& input : {plain, Laid(shape)}) {
      SCOPED_TRACE(cell == RecurrentShape::Cell::kLstm ? "LSTM" : "GRU");
      const RecurrentResults actual = RunRecurrent(*bf16_, recurrent, input);
      ExpectRounded(actual.y, expected.y, kRoundings);
      ExpectRounded(actual.dx, expected.dx, kRoundings);
      ExpectRounded(actual.dinput, expected.dinput, kRoundings);
      ExpectRounded(actual.drecurrent, expected.drecurrent, kRoundings);
      ExpectRounded(actual.dinput_bias, expected.dinput_bias, kRoundings);
      ExpectRounded(actual.drecurrent_bias, expected.drecurrent_bias,
                    kRoundings);
    }
  }
}

}  // namespace
}  // namespace ps
