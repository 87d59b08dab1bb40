#include "tensor/cuda/sequences/cudnn_recurrent.h"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

constexpr int64_t kAlignmentBytes = 256;

int64_t RoundUp(int64_t size_bytes) {
  return (size_bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

// T is the type of all of cuDNN's arrays.
template <typename T>
class CudnnRecurrent final : public RecurrentOp {
 public:
  CudnnRecurrent(LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
                 const RecurrentShape& shape, const ActivationDesc& input)
      : device_(device),
        handle_(std::move(handle)),
        is_lstm_(shape.cell == RecurrentShape::Cell::kLstm),
        gates_(shape.num_gates()),
        steps_(input.shape[0]),
        batch_(input.shape[1]),
        features_(input.shape[2]),
        hidden_(shape.hidden),
        copies_input_(input.layout == nullptr && !std::is_same_v<T, float>),
        output_(CudaActivation(device->storage(), {steps_, batch_, hidden_})) {}

  ~CudnnRecurrent() override {
    // Nothing useful can be done about errors here.
    if (layer_ != nullptr) cudnn().destroy_rnn(layer_);
    if (x_desc_ != nullptr) cudnn().destroy_rnn_data(x_desc_);
    if (y_desc_ != nullptr) cudnn().destroy_rnn_data(y_desc_);
    if (state_desc_ != nullptr) cudnn().destroy_tensor(state_desc_);
    if (matrix_desc_ != nullptr) cudnn().destroy_tensor(matrix_desc_);
    if (bias_desc_ != nullptr) cudnn().destroy_tensor(bias_desc_);
  }

  absl::Status Plan() {
    PS_RETURN_IF_ERROR(Describe());
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().rnn_weight_space_size(handle_->get(), layer_, &weight_bytes_),
        "cudnnGetRNNWeightSpaceSize"));
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().rnn_temp_space_sizes(handle_->get(), layer_,
                                     CUDNN_FWD_MODE_TRAINING, x_desc_,
                                     &workspace_bytes_, &reserve_bytes_),
        "cudnnGetRNNTempSpaceSizes"));
    PS_RETURN_IF_ERROR(Allocate(weight_bytes_, &weights_));
    PS_RETURN_IF_ERROR(Allocate(weight_bytes_, &dweights_));
    PS_RETURN_IF_ERROR(Allocate(reserve_bytes_, &reserve_));
    PS_RETURN_IF_ERROR(Allocate(steps_ * state_bytes(), &y_));
    for (State* const state : {&hidden_state_, &cells_}) {
      if (state == &cells_ && !is_lstm_) continue;
      PS_RETURN_IF_ERROR(Allocate(state_bytes(), &state->before));
      PS_RETURN_IF_ERROR(Allocate(state_bytes(), &state->after));
    }
    if (copies_input_) {
      PS_ASSIGN_OR_RETURN(x_, ProductFactor::Copied(device_, {num_inputs()}));
      size_bytes_ += num_inputs() * kElementBytes;
    }
    PS_RETURN_IF_ERROR(FindPieces());
    return device_->ReserveScratch(DcellOffset() + state_bytes());
  }

  const ActivationDesc& output() const override { return output_; }
  int64_t num_floats() const override {
    constexpr int64_t kFloatBytes = sizeof(float);
    return (size_bytes_ + kFloatBytes - 1) / kFloatBytes;
  }
  absl::Duration cell_time() const override { return absl::ZeroDuration(); }

  // The next Forward clears the memory, since it can report an error.
  void ResetState() override { state_is_zero_ = true; }

  absl::Status SaveState(std::string* bytes) const override {
    return AppendBytes(device_, LastState(), state_is_zero_, bytes);
  }

  absl::Status LoadState(absl::string_view* bytes) override {
    state_is_zero_ = false;
    return TakeBytes(device_, LastState(), bytes);
  }

  // Forward and Backward begin with a call of the device's, which makes it
  // current for cuDNN.
  absl::Status Forward(const float* x, const Weights& weights,
                       float* y) override {
    PS_RETURN_IF_ERROR(Carry(hidden_state_));
    if (is_lstm_) PS_RETURN_IF_ERROR(Carry(cells_));
    state_is_zero_ = false;
    PS_RETURN_IF_ERROR(x_.Take(device_, x));
    const float* const arrays[] = {weights.input, weights.recurrent,
                                   weights.input_bias, weights.recurrent_bias};
    for (const Piece& piece : pieces_) {
      PS_RETURN_IF_ERROR(TakePiece(piece, arrays[piece.array] + piece.begin));
    }
    // Every sequence has the same length, which the descriptors know.
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().rnn_forward(
            handle_->get(), layer_, CUDNN_FWD_MODE_TRAINING,
            /*devSeqLengths=*/nullptr, x_desc_, x_.of(x), y_desc_, y_.get(),
            state_desc_, hidden_state_.before.get(), hidden_state_.after.get(),
            state_desc_, cells_.before.get(), cells_.after.get(), weight_bytes_,
            weights_.get(), workspace_bytes_, device_->scratch(),
            reserve_bytes_, reserve_.get()),
        "cudnnRNNForward"));
    // The backward pass needs the output, and the caller's may have changed.
    return device_->Copy(y_.get(), steps_ * state_bytes(), y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    // cuDNN adds to the weights' gradients.
    PS_RETURN_IF_ERROR(
        device_->Zero(static_cast<int64_t>(weight_bytes_), dweights_.get()));
    // cuDNN writes dx in any case.
    void* const dx =
        a.dx == nullptr || copies_input_ ? InScratch(DxOffset()) : a.dx;
    PS_RETURN_IF_ERROR(ToStatus(
        cudnn().rnn_backward_data(
            handle_->get(), layer_, /*devSeqLengths=*/nullptr, y_desc_,
            y_.get(), a.dy, x_desc_, dx, state_desc_,
            hidden_state_.before.get(), /*dhy=*/nullptr,
            InScratch(DhiddenOffset()), state_desc_, cells_.before.get(),
            /*dcy=*/nullptr, is_lstm_ ? InScratch(DcellOffset()) : nullptr,
            weight_bytes_, weights_.get(), workspace_bytes_, device_->scratch(),
            reserve_bytes_, reserve_.get()),
        "cudnnRNNBackwardData_v8"));
    // Must follow the other, whose results are in the reserved space.
    PS_RETURN_IF_ERROR(
        ToStatus(cudnn().rnn_backward_weights(
                     handle_->get(), layer_, CUDNN_WGRAD_MODE_ADD,
                     /*devSeqLengths=*/nullptr, x_desc_, x_.of(a.x),
                     state_desc_, hidden_state_.before.get(), y_desc_, y_.get(),
                     weight_bytes_, dweights_.get(), workspace_bytes_,
                     device_->scratch(), reserve_bytes_, reserve_.get()),
                 "cudnnRNNBackwardWeights_v8"));
    float* const arrays[] = {a.gradients.input, a.gradients.recurrent,
                             a.gradients.input_bias,
                             a.gradients.recurrent_bias};
    for (const Piece& piece : pieces_) {
      PS_RETURN_IF_ERROR(ToFloats(At(dweights_, piece.place), piece.size,
                                  arrays[piece.array] + piece.begin));
    }
    if (a.dx == nullptr || !copies_input_) return absl::OkStatus();
    return ToFloats(static_cast<const T*>(dx), num_inputs(), a.dx);
  }

 private:
  static constexpr int64_t kElementBytes = sizeof(T);

  // The state of all rows before and after the steps of a Forward.
  struct State {
    std::shared_ptr<void> before, after;
  };

  // Elements that are consecutive both in one of PyTorch's arrays and in
  // cuDNN's memory for all of them.
  struct Piece {
    int array;  // As in Weights: 0 to 3.
    int64_t begin;
    int64_t place;
    int64_t size;
  };

  const CudnnFunctions& cudnn() const { return handle_->functions(); }
  absl::Status ToStatus(cudnnStatus_t status, const char* call) const {
    return CudnnToStatus(cudnn(), status, call);
  }

  int64_t num_inputs() const { return steps_ * batch_ * features_; }
  int64_t state_bytes() const { return batch_ * hidden_ * kElementBytes; }

  // In the scratch, after the workspace.
  int64_t DxOffset() const {
    return RoundUp(static_cast<int64_t>(workspace_bytes_));
  }
  int64_t DhiddenOffset() const {
    return DxOffset() + RoundUp(num_inputs() * kElementBytes);
  }
  int64_t DcellOffset() const {
    return DhiddenOffset() + RoundUp(state_bytes());
  }
  void* InScratch(int64_t offset) const {
    return static_cast<char*>(device_->scratch()) + offset;
  }

  absl::Status Allocate(int64_t size_bytes, std::shared_ptr<void>* memory) {
    PS_ASSIGN_OR_RETURN(*memory, device_->Allocate(size_bytes));
    size_bytes_ += size_bytes;
    return absl::OkStatus();
  }
  absl::Status Allocate(size_t size_bytes, std::shared_ptr<void>* memory) {
    return Allocate(static_cast<int64_t>(size_bytes), memory);
  }

  static T* At(const std::shared_ptr<void>& array, int64_t element) {
    return static_cast<T*>(array.get()) + element;
  }

  absl::Status Describe() {
    for (const int64_t extent :
         {steps_ * batch_ * features_, steps_ * batch_ * hidden_,
          gates_ * hidden_ * (features_ + hidden_ + 2)}) {
      if (extent > std::numeric_limits<int>::max()) {
        return absl::UnimplementedError(absl::StrCat(
            "arrays of at most 2^31 - 1 elements; one has ", extent));
      }
    }
    const auto as_int = [](int64_t extent) { return static_cast<int>(extent); };
    constexpr bool kIsFloat = std::is_same_v<T, float>;
    const cudnnDataType_t type =
        kIsFloat ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
    // CUDNN_DEFAULT_MATH would use TF32 for floats.
    const cudnnMathType_t math = !kIsFloat ? CUDNN_TENSOR_OP_MATH
                                 : device_->precision() == Precision::kTf32
                                     ? CUDNN_DEFAULT_MATH
                                     : CUDNN_FMA_MATH;
    PS_RETURN_IF_ERROR(
        ToStatus(cudnn().create_rnn(&layer_), "cudnnCreateRNNDescriptor"));
    // The persistent algorithms keep all of their blocks resident and make them
    // wait for each other, which compression beside them would have to allow.
    PS_RETURN_IF_ERROR(Annotate(
        ToStatus(cudnn().set_rnn(
                     layer_, CUDNN_RNN_ALGO_STANDARD,
                     is_lstm_ ? CUDNN_LSTM : CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS,
                     CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type,
                     CUDNN_DATA_FLOAT, math, as_int(features_), as_int(hidden_),
                     /*projSize=*/as_int(hidden_), /*numLayers=*/1,
                     /*dropoutDesc=*/nullptr, CUDNN_RNN_PADDED_IO_DISABLED),
                 "cudnnSetRNNDescriptor_v8"),
        kIsFloat ? "floats" : "bfloat16, which cuDNN supports since 9.13"));
    PS_RETURN_IF_ERROR(DescribeSequence(type, as_int(features_), &x_desc_));
    PS_RETURN_IF_ERROR(DescribeSequence(type, as_int(hidden_), &y_desc_));
    for (cudnnTensorDescriptor_t* const desc :
         {&state_desc_, &matrix_desc_, &bias_desc_}) {
      PS_RETURN_IF_ERROR(
          ToStatus(cudnn().create_tensor(desc), "cudnnCreateTensorDescriptor"));
    }
    const int extents[] = {1, as_int(batch_), as_int(hidden_)};
    const int strides[] = {as_int(batch_ * hidden_), as_int(hidden_), 1};
    return ToStatus(
        cudnn().set_tensor_nd(state_desc_, type, 3, extents, strides),
        "cudnnSetTensorNdDescriptor");
  }

  // Of `steps_` steps each, packed: [steps, batch, width] without gaps.
  absl::Status DescribeSequence(cudnnDataType_t type, int width,
                                cudnnRNNDataDescriptor_t* desc) const {
    PS_RETURN_IF_ERROR(ToStatus(cudnn().create_rnn_data(desc),
                                "cudnnCreateRNNDataDescriptor"));
    const std::vector<int> lengths(static_cast<size_t>(batch_),
                                   static_cast<int>(steps_));
    return ToStatus(cudnn().set_rnn_data(
                        *desc, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                        static_cast<int>(steps_), static_cast<int>(batch_),
                        width, lengths.data(), /*paddingFill=*/nullptr),
                    "cudnnSetRNNDataDescriptor");
  }

  // Asks cuDNN where it keeps each gate's part of PyTorch's arrays. Both have
  // the same order of gates.
  absl::Status FindPieces() {
    for (int array = 0; array < 4; ++array) {
      const bool is_recurrent = array % 2 == 1;
      const bool is_bias = array >= 2;
      const int64_t size = hidden_ * (is_bias        ? 1
                                      : is_recurrent ? hidden_
                                                     : features_);
      for (int64_t gate = 0; gate < gates_; ++gate) {
        void* matrix = nullptr;
        void* bias = nullptr;
        PS_RETURN_IF_ERROR(ToStatus(
            cudnn().rnn_weight_params(
                handle_->get(), layer_, /*pseudoLayer=*/0, weight_bytes_,
                weights_.get(),
                static_cast<int32_t>(gate + (is_recurrent ? gates_ : 0)),
                matrix_desc_, &matrix, bias_desc_, &bias),
            "cudnnGetRNNWeightParams"));
        const int64_t place =
            static_cast<T*>(is_bias ? bias : matrix) - At(weights_, 0);
        AddPiece({array, gate * size, place, size});
      }
    }
    return absl::OkStatus();
  }

  void AddPiece(const Piece& piece) {
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      if (last.array == piece.array && last.place + last.size == piece.place) {
        last.size += piece.size;
        return;
      }
    }
    pieces_.push_back(piece);
  }

  // What the next Forward starts from, unless it is zero.
  std::vector<DeviceBytes> LastState() const {
    std::vector<DeviceBytes> parts = {
        {hidden_state_.after.get(), state_bytes()}};
    if (is_lstm_) parts.push_back({cells_.after.get(), state_bytes()});
    return parts;
  }

  // Makes the last state, or zero, the first.
  absl::Status Carry(const State& state) {
    if (state_is_zero_) return device_->Zero(state_bytes(), state.before.get());
    return device_->Copy(state.after.get(), state_bytes(), state.before.get());
  }

  absl::Status TakePiece(const Piece& piece, const float* from) {
    T* const to = At(weights_, piece.place);
    if constexpr (std::is_same_v<T, float>) {
      return device_->Copy(from, piece.size * kElementBytes, to);
    } else {
      return ToChannelsLast(device_, {piece.size}, from, to);
    }
  }

  absl::Status ToFloats(const T* from, int64_t n, float* to) {
    if constexpr (std::is_same_v<T, float>) {
      return device_->Copy(from, n * kElementBytes, to);
    } else {
      return ToPlainOrder(device_, {n}, from, to);
    }
  }

  LayerDevice* const device_;  // Not owned.
  const std::shared_ptr<CudnnHandle> handle_;
  const bool is_lstm_;  // If false, a GRU.
  const int64_t gates_;
  const int64_t steps_;
  const int64_t batch_;
  const int64_t features_;
  const int64_t hidden_;
  const bool copies_input_;  // Since it is floats, and T is not.
  const ActivationDesc output_;
  int64_t size_bytes_ = 0;
  bool state_is_zero_ = true;

  cudnnRNNDescriptor_t layer_ = nullptr;
  cudnnRNNDataDescriptor_t x_desc_ = nullptr;
  cudnnRNNDataDescriptor_t y_desc_ = nullptr;
  cudnnTensorDescriptor_t state_desc_ = nullptr;
  // cudnnGetRNNWeightParams describes what it finds in these.
  cudnnTensorDescriptor_t matrix_desc_ = nullptr;
  cudnnTensorDescriptor_t bias_desc_ = nullptr;

  size_t weight_bytes_ = 0;
  size_t workspace_bytes_ = 0;
  size_t reserve_bytes_ = 0;
  std::vector<Piece> pieces_;
  std::shared_ptr<void> weights_;
  std::shared_ptr<void> dweights_;
  std::shared_ptr<void> reserve_;  // What Backward needs from Forward.
  std::shared_ptr<void> y_;        // [steps, batch, hidden]
  State hidden_state_;
  State cells_;      // LSTM.
  ProductFactor x_;  // A copy if copies_input_.
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanCudnnRecurrent(
    LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
    const RecurrentShape& shape, const ActivationDesc& input) {
  using Planned = absl::StatusOr<std::unique_ptr<RecurrentOp>>;
  return WithElementOf(device->storage(), [&](auto element) -> Planned {
    auto op = std::make_unique<CudnnRecurrent<decltype(element)>>(
        device, handle, shape, input);
    PS_RETURN_IF_ERROR(Annotate(
        op->Plan(),
        absl::StrCat("cuDNN, recurrent layer from ", ShapeString(input.shape),
                     " to ", shape.hidden, " units")));
    return op;
  });
}

}  // namespace ps
