// The recurrent layers of the fake cuDNN, element by element from their
// equations and in double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "glog/logging.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/cuda/layers/fake_cudnn_parts.h"

namespace ps {
namespace fake_cudnn {
namespace {

constexpr size_t kWorkspaceBytes = 1000;
constexpr int64_t kGap = 8;  // Elements between parts of the weights.

struct Layer {
  bool lstm;
  int64_t features, hidden;
  cudnnDataType_t type;

  int64_t gates() const { return lstm ? 4 : 3; }
  // Elements of the matrix with this number, inputs' first.
  int64_t MatrixSize(int64_t number) const {
    return hidden * (number < gates() ? features : hidden);
  }
  // The positions in the weights of a matrix, and of its bias.
  int64_t Matrix(int64_t number) const { return Place(number, false); }
  int64_t Bias(int64_t number) const { return Place(number, true); }
  int64_t NumWeights() const { return Place(2 * gates(), false); }

  int64_t Place(int64_t wanted, bool bias) const {
    int64_t place = 0;
    if (fake->weights_in_order) {
      // W_ih, W_hh, b_ih, b_hh.
      for (int64_t i = 0; i < (bias ? 2 * gates() : wanted); ++i) {
        place += MatrixSize(i);
      }
      if (bias) place += wanted * hidden;
      return wanted == 2 * gates() ? place + wanted * hidden : place;
    }
    for (int64_t i = 2 * gates() - 1; i >= 0; --i) {
      if (i == wanted) return bias ? place : place + hidden + kGap;
      place += hidden + MatrixSize(i) + 2 * kGap;
    }
    return place;  // Of the end.
  }
};

struct Sequence {
  int64_t steps, batch, width;
  cudnnDataType_t type;
};

// Kept from the forward pass for the backward pass, for each step, row and
// unit.
struct Unit {
  double gates[4];
  double cell;
  double candidate;  // GRU: W_hn h + b_hn.
  // By BackwardData for BackwardWeights.
  double dinput[4];
  double drecurrent[4];
};

double Load(cudnnDataType_t type, const void* data, int64_t i) {
  if (type == CUDNN_DATA_FLOAT) return static_cast<const float*>(data)[i];
  return double{static_cast<float>(static_cast<const Bfloat16*>(data)[i])};
}
void Store(cudnnDataType_t type, double value, int64_t i, void* data) {
  if (type == CUDNN_DATA_FLOAT) {
    static_cast<float*>(data)[i] = static_cast<float>(value);
  } else {
    static_cast<Bfloat16*>(data)[i] = static_cast<float>(value);
  }
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// All that the three passes need; the data may be null where a pass has none.
struct Run {
  Layer layer;
  int64_t steps, batch;
  const void* x;
  const void* y;
  const void* hidden;  // Before the first step.
  const void* cell;
  const void* weights;
  void* reserve;

  double Weight(int64_t place) const {
    return Load(layer.type, weights, place);
  }
  double X(int64_t t, int64_t row, int64_t k) const {
    return Load(layer.type, x, (t * batch + row) * layer.features + k);
  }
  // The states before step t.
  double Hidden(int64_t t, int64_t row, int64_t k) const {
    const int64_t i = row * layer.hidden + k;
    return t == 0 ? Load(layer.type, hidden, i)
                  : Load(layer.type, y, (t - 1) * batch * layer.hidden + i);
  }
  double Cell(int64_t t, int64_t row, int64_t k) const {
    return t == 0 ? Load(layer.type, cell, row * layer.hidden + k)
                  : At(t - 1, row, k).cell;
  }
  Unit& At(int64_t t, int64_t row, int64_t k) const {
    return static_cast<Unit*>(reserve)[(t * batch + row) * layer.hidden + k];
  }
  // Calls body(step, row, unit) for all units of one step.
  template <typename Body>
  void ForEach(int64_t t, const Body& body) const {
    for (int64_t row = 0; row < batch; ++row) {
      for (int64_t j = 0; j < layer.hidden; ++j) body(row, j, At(t, row, j));
    }
  }
};

void Forward(const Run& r, void* y, void* hidden_after, void* cell_after) {
  const Layer& layer = r.layer;
  const int64_t gates = layer.gates();
  for (int64_t t = 0; t < r.steps; ++t) {
    r.ForEach(t, [&](int64_t row, int64_t j, Unit& unit) {
      double input[4], recurrent[4];
      for (int64_t g = 0; g < gates; ++g) {
        input[g] = r.Weight(layer.Bias(g) + j);
        for (int64_t k = 0; k < layer.features; ++k) {
          input[g] += r.Weight(layer.Matrix(g) + j * layer.features + k) *
                      r.X(t, row, k);
        }
        recurrent[g] = r.Weight(layer.Bias(gates + g) + j);
        for (int64_t k = 0; k < layer.hidden; ++k) {
          recurrent[g] +=
              r.Weight(layer.Matrix(gates + g) + j * layer.hidden + k) *
              r.Hidden(t, row, k);
        }
      }
      double h = 0;
      if (layer.lstm) {
        for (int g = 0; g < 4; ++g) {
          const double sum = input[g] + recurrent[g];
          unit.gates[g] = g == 2 ? std::tanh(sum) : Sigmoid(sum);
        }
        unit.cell =
            unit.gates[1] * r.Cell(t, row, j) + unit.gates[0] * unit.gates[2];
        h = unit.gates[3] * std::tanh(unit.cell);
      } else {
        unit.gates[0] = Sigmoid(input[0] + recurrent[0]);
        unit.gates[1] = Sigmoid(input[1] + recurrent[1]);
        unit.gates[2] = std::tanh(input[2] + unit.gates[0] * recurrent[2]);
        unit.candidate = recurrent[2];
        h = (1 - unit.gates[1]) * unit.gates[2] +
            unit.gates[1] * r.Hidden(t, row, j);
      }
      Store(layer.type, h, (t * r.batch + row) * layer.hidden + j, y);
    });
  }
  r.ForEach(r.steps - 1, [&](int64_t row, int64_t j, Unit& unit) {
    const int64_t i = row * layer.hidden + j;
    Store(layer.type, r.Hidden(r.steps, row, j), i, hidden_after);
    if (layer.lstm) Store(layer.type, unit.cell, i, cell_after);
  });
}

void BackwardData(const Run& r, const void* dy, void* dx) {
  const Layer& layer = r.layer;
  const int64_t gates = layer.gates(), hidden = layer.hidden;
  std::vector<double> dhidden(r.batch * hidden), dcell(r.batch * hidden);
  for (int64_t t = r.steps - 1; t >= 0; --t) {
    std::vector<double> direct(r.batch * hidden);
    r.ForEach(t, [&](int64_t row, int64_t j, Unit& u) {
      const int64_t i = row * hidden + j;
      const double dh =
          Load(layer.type, dy, t * r.batch * hidden + i) + dhidden[i];
      const double* const v = u.gates;
      if (layer.lstm) {
        const double tanh_c = std::tanh(u.cell);
        const double dc = dcell[i] + dh * v[3] * (1 - tanh_c * tanh_c);
        u.dinput[0] = dc * v[2] * v[0] * (1 - v[0]);
        u.dinput[1] = dc * r.Cell(t, row, j) * v[1] * (1 - v[1]);
        u.dinput[2] = dc * v[0] * (1 - v[2] * v[2]);
        u.dinput[3] = dh * tanh_c * v[3] * (1 - v[3]);
        dcell[i] = dc * v[1];
        std::copy(u.dinput, u.dinput + 4, u.drecurrent);
      } else {
        const double dn = dh * (1 - v[1]) * (1 - v[2] * v[2]);
        u.dinput[0] = dn * u.candidate * v[0] * (1 - v[0]);
        u.dinput[1] = dh * (r.Hidden(t, row, j) - v[2]) * v[1] * (1 - v[1]);
        u.dinput[2] = dn;
        std::copy(u.dinput, u.dinput + 2, u.drecurrent);
        u.drecurrent[2] = dn * v[0];
        direct[i] = dh * v[1];
      }
    });
    for (int64_t row = 0; row < r.batch; ++row) {
      const auto sum = [&](int64_t first, int64_t width, int64_t k) {
        double total = 0;
        for (int64_t g = 0; g < gates; ++g) {
          for (int64_t j = 0; j < hidden; ++j) {
            const Unit& u = r.At(t, row, j);
            total += (first == 0 ? u.dinput[g] : u.drecurrent[g]) *
                     r.Weight(layer.Matrix(first + g) + j * width + k);
          }
        }
        return total;
      };
      for (int64_t k = 0; k < hidden; ++k) {
        const int64_t i = row * hidden + k;
        dhidden[i] = direct[i] + sum(gates, hidden, k);
      }
      for (int64_t k = 0; k < layer.features; ++k) {
        Store(layer.type, sum(0, layer.features, k),
              (t * r.batch + row) * layer.features + k, dx);
      }
    }
  }
}

// Adds to dweights.
void BackwardWeights(const Run& r, void* dweights) {
  const Layer& layer = r.layer;
  std::vector<double> sums(layer.NumWeights());
  for (int64_t t = 0; t < r.steps; ++t) {
    r.ForEach(t, [&](int64_t row, int64_t j, const Unit& u) {
      for (int64_t g = 0; g < layer.gates(); ++g) {
        const int64_t recurrent = layer.gates() + g;
        sums[layer.Bias(g) + j] += u.dinput[g];
        sums[layer.Bias(recurrent) + j] += u.drecurrent[g];
        for (int64_t k = 0; k < layer.features; ++k) {
          sums[layer.Matrix(g) + j * layer.features + k] +=
              u.dinput[g] * r.X(t, row, k);
        }
        for (int64_t k = 0; k < layer.hidden; ++k) {
          sums[layer.Matrix(recurrent) + j * layer.hidden + k] +=
              u.drecurrent[g] * r.Hidden(t, row, k);
        }
      }
    });
  }
  for (int64_t i = 0; i < layer.NumWeights(); ++i) {
    Store(layer.type, Load(layer.type, dweights, i) + sums[i], i, dweights);
  }
}

size_t ElementBytes(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : 2;
}
size_t WeightBytes(const Layer& layer) {
  return static_cast<size_t>(layer.NumWeights()) * ElementBytes(layer.type);
}
size_t ReserveBytes(const Layer& layer, const Sequence& x) {
  return static_cast<size_t>(x.steps * x.batch * layer.hidden) * sizeof(Unit);
}

// What the three passes have in common.
Run RunOf(const Layer& layer, const Sequence& x_desc, const void* x,
          const Sequence& y_desc, const void* y, const Tensor4& state,
          const void* hidden, const void* cell, const void* weights,
          void* reserve) {
  CHECK(x_desc.type == layer.type && y_desc.type == layer.type);
  CHECK(x_desc.width == layer.features && y_desc.width == layer.hidden);
  CHECK(x_desc.steps == y_desc.steps && x_desc.batch == y_desc.batch);
  CHECK(state.n == 1 && state.c == x_desc.batch && state.h == layer.hidden);
  CHECK_EQ(state.type, layer.type);
  CHECK(hidden != nullptr);
  return {layer,  x_desc.steps, x_desc.batch, x,      y,
          hidden, cell,         weights,      reserve};
}

}  // namespace

void AddRecurrentFunctions(CudnnFunctions* functions) {
  CudnnFunctions& f = *functions;
  f.create_rnn = [](cudnnRNNDescriptor_t* d) { return Create<Layer>(d); };
  f.destroy_rnn = [](cudnnRNNDescriptor_t d) { return Destroy<Layer>(d); };
  f.set_rnn = [](cudnnRNNDescriptor_t d, cudnnRNNAlgo_t algorithm,
                 cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
                 cudnnDirectionMode_t direction, cudnnRNNInputMode_t input,
                 cudnnDataType_t type, cudnnDataType_t precision,
                 cudnnMathType_t math, int32_t features, int32_t hidden,
                 int32_t projection, int32_t layers,
                 cudnnDropoutDescriptor_t dropout, uint32_t flags) {
    CHECK_EQ(algorithm, CUDNN_RNN_ALGO_STANDARD);
    CHECK(cell == CUDNN_LSTM || cell == CUDNN_GRU);
    CHECK_EQ(bias, CUDNN_RNN_DOUBLE_BIAS);
    CHECK_EQ(direction, CUDNN_UNIDIRECTIONAL);
    CHECK_EQ(input, CUDNN_LINEAR_INPUT);
    CHECK(type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_BFLOAT16);
    CHECK_EQ(precision, CUDNN_DATA_FLOAT);
    CHECK_EQ(projection, hidden);
    CHECK_EQ(layers, 1);
    CHECK(dropout == nullptr);
    CHECK_EQ(flags, 0u);
    fake->math = math;
    As<Layer>(d) = {cell == CUDNN_LSTM, features, hidden, type};
    return Call("set_rnn");
  };
  f.create_rnn_data = [](cudnnRNNDataDescriptor_t* d) {
    return Create<Sequence>(d);
  };
  f.destroy_rnn_data = [](cudnnRNNDataDescriptor_t d) {
    return Destroy<Sequence>(d);
  };
  f.set_rnn_data = [](cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                      cudnnRNNDataLayout_t layout, int steps, int batch,
                      int width, const int lengths[], void*) {
    CHECK_EQ(layout, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED);
    for (int row = 0; row < batch; ++row) CHECK_EQ(lengths[row], steps);
    As<Sequence>(d) = {steps, batch, width, type};
    return Call("set_rnn_data");
  };
  f.rnn_weight_space_size = [](cudnnHandle_t, cudnnRNNDescriptor_t d,
                               size_t* size) {
    *size = WeightBytes(As<Layer>(d));
    return Call("rnn_weight_space_size");
  };
  f.rnn_weight_params = [](cudnnHandle_t, cudnnRNNDescriptor_t d,
                           int32_t layer_number, size_t size,
                           const void* weights, int32_t number,
                           cudnnTensorDescriptor_t matrix_desc, void** matrix,
                           cudnnTensorDescriptor_t bias_desc, void** bias) {
    const Layer& layer = As<Layer>(d);
    CHECK_EQ(layer_number, 0);
    CHECK_EQ(size, WeightBytes(layer));
    CHECK(matrix_desc != nullptr && bias_desc != nullptr);
    char* const base = const_cast<char*>(static_cast<const char*>(weights));
    const auto element = static_cast<int64_t>(ElementBytes(layer.type));
    *matrix = base + layer.Matrix(number) * element;
    *bias = base + layer.Bias(number) * element;
    return Call("rnn_weight_params");
  };
  f.rnn_temp_space_sizes =
      [](cudnnHandle_t, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode,
         cudnnRNNDataDescriptor_t x, size_t* workspace, size_t* reserve) {
        CHECK_EQ(mode, CUDNN_FWD_MODE_TRAINING);
        *workspace = kWorkspaceBytes;
        *reserve = ReserveBytes(As<Layer>(d), As<Sequence>(x));
        return Call("rnn_temp_space_sizes");
      };
  f.rnn_forward = [](cudnnHandle_t handle, cudnnRNNDescriptor_t d,
                     cudnnForwardMode_t mode, const int32_t lengths[],
                     cudnnRNNDataDescriptor_t xd, const void* x,
                     cudnnRNNDataDescriptor_t yd, void* y,
                     cudnnTensorDescriptor_t hd, const void* hx, void* hy,
                     cudnnTensorDescriptor_t, const void* cx, void* cy,
                     size_t weight_bytes, const void* weights,
                     size_t workspace_bytes, void* workspace,
                     size_t reserve_bytes, void* reserve) {
    CHECK_EQ(mode, CUDNN_FWD_MODE_TRAINING);
    CHECK(lengths == nullptr);
    CHECK_EQ(weight_bytes, WeightBytes(As<Layer>(d)));
    CHECK_EQ(workspace_bytes, kWorkspaceBytes);
    CHECK_EQ(reserve_bytes, ReserveBytes(As<Layer>(d), As<Sequence>(xd)));
    ++fake->num_calls;
    const Run run = RunOf(As<Layer>(d), As<Sequence>(xd), x, As<Sequence>(yd),
                          y, As<Tensor4>(hd), hx, cx, weights, reserve);
    return Queue(handle, "rnn_forward", [=] {
      std::memset(workspace, 0xff, workspace_bytes);
      Forward(run, y, hy, cy);
    });
  };
  f.rnn_backward_data =
      [](cudnnHandle_t handle, cudnnRNNDescriptor_t d, const int32_t lengths[],
         cudnnRNNDataDescriptor_t yd, const void* y, const void* dy,
         cudnnRNNDataDescriptor_t xd, void* dx, cudnnTensorDescriptor_t hd,
         const void* hx, const void* dhy, void* dhx, cudnnTensorDescriptor_t,
         const void* cx, const void* dcy, void* dcx, size_t,
         const void* weights, size_t workspace_bytes, void* workspace, size_t,
         void* reserve) {
        CHECK(lengths == nullptr && dhy == nullptr && dcy == nullptr);
        CHECK(dx != nullptr && dhx != nullptr);
        CHECK_EQ(dcx != nullptr, As<Layer>(d).lstm);
        ++fake->num_calls;
        const Run run =
            RunOf(As<Layer>(d), As<Sequence>(xd), nullptr, As<Sequence>(yd), y,
                  As<Tensor4>(hd), hx, cx, weights, reserve);
        return Queue(handle, "rnn_backward_data", [=] {
          const size_t state_bytes =
              static_cast<size_t>(run.batch * run.layer.hidden) *
              ElementBytes(run.layer.type);
          std::memset(workspace, 0xff, workspace_bytes);
          BackwardData(run, dy, dx);
          std::memset(dhx, 0xff, state_bytes);
          if (dcx != nullptr) std::memset(dcx, 0xff, state_bytes);
        });
      };
  f.rnn_backward_weights = [](cudnnHandle_t handle, cudnnRNNDescriptor_t d,
                              cudnnWgradMode_t mode, const int32_t lengths[],
                              cudnnRNNDataDescriptor_t xd, const void* x,
                              cudnnTensorDescriptor_t hd, const void* hx,
                              cudnnRNNDataDescriptor_t yd, const void* y,
                              size_t, void* dweights, size_t workspace_bytes,
                              void* workspace, size_t, void* reserve) {
    // The only mode that is supported.
    CHECK_EQ(mode, CUDNN_WGRAD_MODE_ADD);
    CHECK(lengths == nullptr);
    ++fake->num_calls;
    const Run run = RunOf(As<Layer>(d), As<Sequence>(xd), x, As<Sequence>(yd),
                          y, As<Tensor4>(hd), hx, nullptr, nullptr, reserve);
    return Queue(handle, "rnn_backward_weights", [=] {
      std::memset(workspace, 0xff, workspace_bytes);
      BackwardWeights(run, dweights);
    });
  };
}

}  // namespace fake_cudnn
}  // namespace ps
