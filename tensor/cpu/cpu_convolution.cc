#include "tensor/cpu/cpu_convolution.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"
#include "tensor/cpu/layout_change.h"

namespace ps {
namespace {

using dnnl::memory;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// The orders in which a primitive takes a convolution's input and output.
struct Orders {
  ChannelOrder src;
  ChannelOrder dst;
};

// Properties common to all three passes.
struct Geometry {
  std::string what;
  Shape src;
  Shape dst;
  Shape weights;  // [out, in / groups, height, width], or [groups, ...].
  bool has_bias = false;
  memory::dims strides;
  memory::dims padding;

  // Returns weights in the layout that the primitive prefers.
  memory::desc AnyWeights() const {
    return memory::desc(weights, memory::data_type::f32,
                        memory::format_tag::any);
  }
  memory::desc Bias() const {
    return has_bias ? PlainDesc({dst[1]}) : memory::desc();
  }
};

// A primitive, and the conversions of its arguments to its layouts.
struct Pass {
  DnnlStep step;
  LayoutChange x;
  LayoutChange weights;
  LayoutChange y;
};

class CpuConvolution final : public AffineOp {
 public:
  CpuConvolution(ActivationDesc output, Pass forward, Pass backward_data,
                 Pass backward_weights)
      : output_(std::move(output)),
        forward_(std::move(forward)),
        backward_data_(std::move(backward_data)),
        backward_weights_(std::move(backward_weights)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_ASSIGN_OR_RETURN(x, forward_.x.Import(x));
    PS_ASSIGN_OR_RETURN(weight, forward_.weights.Import(weight));
    PS_RETURN_IF_ERROR(
        forward_.step.Run({{DNNL_ARG_SRC, x},
                           {DNNL_ARG_WEIGHTS, weight},
                           {DNNL_ARG_BIAS, bias},
                           {DNNL_ARG_DST, forward_.y.Target(y)}}));
    return forward_.y.Export(y);
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    PS_RETURN_IF_ERROR(BackwardWeights(x, dy, dweight, dbias));
    if (dx == nullptr) return absl::OkStatus();
    Pass& pass = backward_data_;
    PS_ASSIGN_OR_RETURN(dy, pass.y.Import(dy));
    PS_ASSIGN_OR_RETURN(weight, pass.weights.Import(weight));
    PS_RETURN_IF_ERROR(pass.step.Run({{DNNL_ARG_DIFF_DST, dy},
                                      {DNNL_ARG_WEIGHTS, weight},
                                      {DNNL_ARG_DIFF_SRC, pass.x.Target(dx)}}));
    return pass.x.Export(dx);
  }

 private:
  absl::Status BackwardWeights(const float* x, const float* dy, float* dweight,
                               float* dbias) {
    Pass& pass = backward_weights_;
    PS_ASSIGN_OR_RETURN(x, pass.x.Import(x));
    PS_ASSIGN_OR_RETURN(dy, pass.y.Import(dy));
    PS_RETURN_IF_ERROR(
        pass.step.Run({{DNNL_ARG_SRC, x},
                       {DNNL_ARG_DIFF_DST, dy},
                       {DNNL_ARG_DIFF_WEIGHTS, pass.weights.Target(dweight)},
                       {DNNL_ARG_DIFF_BIAS, dbias}}));
    return pass.weights.Export(dweight);
  }

  const ActivationDesc output_;
  Pass forward_;
  Pass backward_data_;
  Pass backward_weights_;
};

template <typename PrimitiveDesc>
struct Choice {
  Orders orders;
  PrimitiveDesc desc;
};

// Returns the first of `candidates` for which oneDNN has more than its
// reference code (which accepts anything but is a thousand times slower), else
// the first that it accepts at all. make(orders) returns a primitive_desc.
template <typename Make>
auto Choose(const Geometry& g, const std::vector<Orders>& candidates,
            const Make& make) {
  using Result = Choice<decltype(make(candidates[0]))>;
  std::optional<Result> first;
  std::optional<dnnl::error> refusal;
  for (const Orders& orders : candidates) {
    const auto blocks = [](ChannelOrder order, const Shape& shape) {
      return order != ChannelOrder::kBlocked || shape[1] % BlockChannels() == 0;
    };
    if (!blocks(orders.src, g.src) || !blocks(orders.dst, g.dst)) continue;
    try {
      const Result result = {orders, make(orders)};
      if (!absl::StrContains(result.desc.impl_info_str(), "ref")) return result;
      if (!first.has_value()) first = result;
    } catch (const dnnl::error& error) {
      refusal = error;
    }
  }
  if (!first.has_value()) throw *refusal;
  return *first;
}

// Plans the three passes for one given order of the input.
class ConvolutionPlanner {
 public:
  ConvolutionPlanner(const DnnlContext& context, const Geometry& geometry,
                     ChannelOrder given)
      : context_(context), g_(geometry), given_({given, given}) {}

  absl::StatusOr<std::unique_ptr<AffineOp>> Plan() {
    constexpr ChannelOrder kLast = ChannelOrder::kLast;
    constexpr ChannelOrder kBlocked = ChannelOrder::kBlocked;
    // Prefers no reorder, and then a blocked order.
    const auto forward = Choose(g_,
                                {{given_.src, kBlocked},
                                 {given_.src, kLast},
                                 {kBlocked, kBlocked},
                                 {kLast, kLast}},
                                [&](const Orders& o) { return Forward(o); });
    const std::vector<Orders> candidates = {forward.orders,
                                            {given_.src, forward.orders.dst},
                                            {kBlocked, kBlocked},
                                            {kLast, kLast}};
    const auto backward_data = Choose(g_, candidates, [&](const Orders& o) {
      return dnnl::convolution_backward_data::primitive_desc(
          {kDirect, Src(o), g_.AnyWeights(), Dst(o), g_.strides, g_.padding,
           g_.padding},
          context_.engine, Forward(o));
    });
    const auto backward_weights = Choose(g_, candidates, [&](const Orders& o) {
      return dnnl::convolution_backward_weights::primitive_desc(
          {kDirect, Src(o), g_.AnyWeights(), g_.Bias(), Dst(o), g_.strides,
           g_.padding, g_.padding},
          context_.engine, Forward(o));
    });
    given_.dst = forward.orders.dst;
    const ActivationDesc output = ImageActivation(g_.dst, given_.dst);
    auto op = std::make_unique<CpuConvolution>(
        output, ForwardPass(forward), BackwardDataPass(backward_data),
        BackwardWeightsPass(backward_weights));
    PS_RETURN_IF_ERROR(context_.scratch->Reserve(scratch_floats_));
    return op;
  }

 private:
  using Kind = LayoutChange::Kind;

  memory::desc Src(const Orders& o) const { return ImageDesc(g_.src, o.src); }
  memory::desc Dst(const Orders& o) const { return ImageDesc(g_.dst, o.dst); }

  // Returns the caller's layout, expressed as the primitive's where both are
  // the same memory.
  memory::desc GivenSrc(const Orders& o) const {
    return OrdersCoincide(g_.src, given_.src, o.src)
               ? Src(o)
               : ImageDesc(g_.src, given_.src);
  }
  memory::desc GivenDst(const Orders& o) const {
    return OrdersCoincide(g_.dst, given_.dst, o.dst)
               ? Dst(o)
               : ImageDesc(g_.dst, given_.dst);
  }

  dnnl::convolution_forward::primitive_desc Forward(const Orders& o) const {
    return dnnl::convolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_training, kDirect, Src(o), g_.AnyWeights(),
         g_.Bias(), Dst(o), g_.strides, g_.padding, g_.padding},
        context_.engine);
  }

  // Creates a step. `arguments` does not include the bias; it is added here.
  DnnlStep Step(const dnnl::primitive& primitive,
                std::vector<DnnlStep::Argument> arguments, int bias_argument,
                const char* direction) const {
    if (g_.has_bias && bias_argument != 0) {
      arguments.push_back(Bound(context_, bias_argument, g_.Bias()));
    }
    return DnnlStep(context_, primitive, std::move(arguments),
                    absl::StrCat(g_.what, direction));
  }

  template <typename PrimitiveDesc>
  Pass ForwardPass(const Choice<PrimitiveDesc>& choice) {
    const memory::desc src = Src(choice.orders), dst = Dst(choice.orders);
    const memory::desc weights = choice.desc.weights_desc();
    ScratchSpace space;
    Pass pass = {Step(dnnl::convolution_forward(choice.desc),
                      {Bound(context_, DNNL_ARG_SRC, src),
                       Bound(context_, DNNL_ARG_WEIGHTS, weights),
                       Bound(context_, DNNL_ARG_DST, dst)},
                      DNNL_ARG_BIAS, " forward"),
                 LayoutChange::Into(context_, Kind::kActivation,
                                    GivenSrc(choice.orders), src, &space),
                 LayoutChange::Into(context_, Kind::kWeights,
                                    PlainDesc(g_.weights), weights, &space),
                 LayoutChange::OutOf(context_, Kind::kActivation, dst,
                                     GivenDst(choice.orders), &space)};
    scratch_floats_ = std::max(scratch_floats_, space.num_floats());
    return pass;
  }

  template <typename PrimitiveDesc>
  Pass BackwardDataPass(const Choice<PrimitiveDesc>& choice) {
    const memory::desc src = Src(choice.orders), dst = Dst(choice.orders);
    const memory::desc weights = choice.desc.weights_desc();
    ScratchSpace space;
    Pass pass = {Step(dnnl::convolution_backward_data(choice.desc),
                      {Bound(context_, DNNL_ARG_DIFF_DST, dst),
                       Bound(context_, DNNL_ARG_WEIGHTS, weights),
                       Bound(context_, DNNL_ARG_DIFF_SRC, src)},
                      /*bias_argument=*/0, " backward data"),
                 LayoutChange::OutOf(context_, Kind::kActivation, src,
                                     GivenSrc(choice.orders), &space),
                 LayoutChange::Into(context_, Kind::kWeights,
                                    PlainDesc(g_.weights), weights, &space),
                 LayoutChange::Into(context_, Kind::kActivation,
                                    GivenDst(choice.orders), dst, &space)};
    scratch_floats_ = std::max(scratch_floats_, space.num_floats());
    return pass;
  }

  template <typename PrimitiveDesc>
  Pass BackwardWeightsPass(const Choice<PrimitiveDesc>& choice) {
    const memory::desc src = Src(choice.orders), dst = Dst(choice.orders);
    const memory::desc weights = choice.desc.diff_weights_desc();
    ScratchSpace space;
    Pass pass = {Step(dnnl::convolution_backward_weights(choice.desc),
                      {Bound(context_, DNNL_ARG_SRC, src),
                       Bound(context_, DNNL_ARG_DIFF_DST, dst),
                       Bound(context_, DNNL_ARG_DIFF_WEIGHTS, weights)},
                      DNNL_ARG_DIFF_BIAS, " backward weights"),
                 LayoutChange::Into(context_, Kind::kActivation,
                                    GivenSrc(choice.orders), src, &space),
                 LayoutChange::OutOf(context_, Kind::kWeights, weights,
                                     PlainDesc(g_.weights), &space),
                 LayoutChange::Into(context_, Kind::kActivation,
                                    GivenDst(choice.orders), dst, &space)};
    scratch_floats_ = std::max(scratch_floats_, space.num_floats());
    return pass;
  }

  const DnnlContext& context_;
  const Geometry& g_;
  Orders given_;  // The caller's orders; dst is set once it is chosen.
  int64_t scratch_floats_ = 0;  // The scratch size of the pass that needs most.
};

}  // namespace

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuConvolution(
    const DnnlContext& context, const ConvolutionShape& shape,
    const ActivationDesc& input) {
  Geometry g;
  g.what = absl::StrCat("convolution of ", ShapeString(input.shape), " with ",
                        shape.out_channels, " kernels of ", shape.kernel_height,
                        " x ", shape.kernel_width, ", stride ", shape.stride,
                        ", padding ", shape.padding, ", groups ", shape.groups);
  PS_RETURN_IF_ERROR(CheckImages(g.what, input));
  if (shape.out_channels < 1 || shape.kernel_height < 1 ||
      shape.kernel_width < 1 || shape.stride < 1 || shape.padding < 0 ||
      shape.groups < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        g.what,
        ": needs padding of at least 0, and everything else at least "
        "1"));
  }
  if (input.shape[1] % shape.groups != 0 ||
      shape.out_channels % shape.groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        g.what, ": the groups must divide the channels of both sides"));
  }
  const int64_t room_height =
      input.shape[2] + 2 * shape.padding - shape.kernel_height;
  const int64_t room_width =
      input.shape[3] + 2 * shape.padding - shape.kernel_width;
  if (room_height < 0 || room_width < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(g.what, ": the kernel is larger than the padded input"));
  }
  g.src = input.shape;
  g.dst = {input.shape[0], shape.out_channels, room_height / shape.stride + 1,
           room_width / shape.stride + 1};
  g.weights = {shape.out_channels / shape.groups, input.shape[1] / shape.groups,
               shape.kernel_height, shape.kernel_width};
  if (shape.groups > 1) g.weights.insert(g.weights.begin(), shape.groups);
  g.has_bias = shape.bias;
  g.strides = {shape.stride, shape.stride};
  g.padding = {shape.padding, shape.padding};
  return ConvolutionPlanner(context, g, OrderOf(input)).Plan();
}

}  // namespace ps
