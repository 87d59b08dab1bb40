#include "tensor/cpu/cpu_affine.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"

namespace ps {
namespace {

using dnnl::memory;

// Three primitives and the layouts that they chose. A convolution's and an
// inner product's primitives take the same arguments.
struct AffinePrimitives {
  std::string what;  // For errors.
  ActivationDesc output;
  dnnl::primitive forward;
  dnnl::primitive backward_data;
  dnnl::primitive backward_weights;
  memory::desc given_src;  // As the caller has it.
  memory::desc src;
  memory::desc dst;
  memory::desc bias;
  memory::desc plain_weights;  // PyTorch's.
  memory::desc forward_weights;
  memory::desc backward_data_weights;
  memory::desc diff_weights;
};

// Fills in what a convolution and an inner product have in common.
template <typename Operation, typename ForwardPd, typename BackwardDataPd,
          typename BackwardWeightsPd>
void SetPrimitives(const ForwardPd& forward,
                   const BackwardDataPd& backward_data,
                   const BackwardWeightsPd& backward_weights,
                   AffinePrimitives* result) {
  result->forward = typename Operation::Forward(forward);
  result->backward_data = typename Operation::BackwardData(backward_data);
  result->backward_weights =
      typename Operation::BackwardWeights(backward_weights);
  result->forward_weights = forward.weights_desc();
  result->backward_data_weights = backward_data.weights_desc();
  result->diff_weights = backward_weights.diff_weights_desc();
}

struct InnerProductPrimitives {
  using Forward = dnnl::inner_product_forward;
  using BackwardData = dnnl::inner_product_backward_data;
  using BackwardWeights = dnnl::inner_product_backward_weights;
};

// Brings an argument to the layout that a primitive wants, or a result back
// from it, by way of scratch memory; nothing where both layouts agree.
class LayoutChange {
 public:
  enum class Side { kFrom, kTo };  // Which side is the scratch.

  LayoutChange(const DnnlContext& context, const memory::desc& from,
               const memory::desc& to, Side scratch, const std::string& what) {
    if (from == to) return;
    step_.emplace(
        context,
        dnnl::reorder(dnnl::reorder::primitive_desc(context.engine, from,
                                                    context.engine, to)),
        std::vector<DnnlStep::Argument>{Bound(context, DNNL_ARG_FROM, from),
                                        Bound(context, DNNL_ARG_TO, to)},
        absl::StrCat(what, " (layout)"));
    scratch_ = memory(scratch == Side::kFrom ? from : to, context.engine);
  }

  // Where the primitive reads: `data`, or a copy of it in the scratch.
  absl::StatusOr<const float*> Import(const float* data) {
    if (!step_.has_value()) return data;
    PS_RETURN_IF_ERROR(
        step_->Run({{DNNL_ARG_FROM, data}, {DNNL_ARG_TO, scratch()}}));
    return scratch();
  }

  // Where the primitive writes, before Export(data).
  float* Target(float* data) { return step_.has_value() ? scratch() : data; }

  absl::Status Export(float* data) {
    if (!step_.has_value()) return absl::OkStatus();
    return step_->Run({{DNNL_ARG_FROM, scratch()}, {DNNL_ARG_TO, data}});
  }

 private:
  float* scratch() { return static_cast<float*>(scratch_.get_data_handle()); }

  std::optional<DnnlStep> step_;
  memory scratch_;
};

class DnnlAffineOp final : public AffineOp {
 public:
  DnnlAffineOp(const DnnlContext& context, const AffinePrimitives& p)
      : output_(p.output),
        forward_(context, p.forward,
                 {Bound(context, DNNL_ARG_SRC, p.src),
                  Bound(context, DNNL_ARG_WEIGHTS, p.forward_weights),
                  Bound(context, DNNL_ARG_BIAS, p.bias),
                  Bound(context, DNNL_ARG_DST, p.dst)},
                 absl::StrCat(p.what, " forward")),
        backward_data_(
            context, p.backward_data,
            {Bound(context, DNNL_ARG_DIFF_DST, p.dst),
             Bound(context, DNNL_ARG_WEIGHTS, p.backward_data_weights),
             Bound(context, DNNL_ARG_DIFF_SRC, p.src)},
            absl::StrCat(p.what, " backward data")),
        backward_weights_(
            context, p.backward_weights,
            {Bound(context, DNNL_ARG_SRC, p.src),
             Bound(context, DNNL_ARG_DIFF_DST, p.dst),
             Bound(context, DNNL_ARG_DIFF_WEIGHTS, p.diff_weights),
             Bound(context, DNNL_ARG_DIFF_BIAS, p.bias)},
            absl::StrCat(p.what, " backward weights")),
        x_(context, p.given_src, p.src, LayoutChange::Side::kTo, p.what),
        dx_(context, p.src, p.given_src, LayoutChange::Side::kFrom, p.what),
        forward_weights_(context, p.plain_weights, p.forward_weights,
                         LayoutChange::Side::kTo, p.what),
        backward_data_weights_(context, p.plain_weights,
                               p.backward_data_weights, LayoutChange::Side::kTo,
                               p.what),
        diff_weights_(context, p.diff_weights, p.plain_weights,
                      LayoutChange::Side::kFrom, p.what) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_ASSIGN_OR_RETURN(x, x_.Import(x));
    PS_ASSIGN_OR_RETURN(weight, forward_weights_.Import(weight));
    return forward_.Run({{DNNL_ARG_SRC, x},
                         {DNNL_ARG_WEIGHTS, weight},
                         {DNNL_ARG_BIAS, bias},
                         {DNNL_ARG_DST, y}});
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    PS_ASSIGN_OR_RETURN(x, x_.Import(x));
    PS_RETURN_IF_ERROR(backward_weights_.Run(
        {{DNNL_ARG_SRC, x},
         {DNNL_ARG_DIFF_DST, dy},
         {DNNL_ARG_DIFF_WEIGHTS, diff_weights_.Target(dweight)},
         {DNNL_ARG_DIFF_BIAS, dbias}}));
    PS_RETURN_IF_ERROR(diff_weights_.Export(dweight));
    if (dx == nullptr) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(weight, backward_data_weights_.Import(weight));
    PS_RETURN_IF_ERROR(
        backward_data_.Run({{DNNL_ARG_DIFF_DST, dy},
                            {DNNL_ARG_WEIGHTS, weight},
                            {DNNL_ARG_DIFF_SRC, dx_.Target(dx)}}));
    return dx_.Export(dx);
  }

 private:
  const ActivationDesc output_;
  DnnlStep forward_;
  DnnlStep backward_data_;
  DnnlStep backward_weights_;
  LayoutChange x_;
  LayoutChange dx_;
  LayoutChange forward_weights_;
  LayoutChange backward_data_weights_;
  LayoutChange diff_weights_;
};

// For weights: as the primitive likes best.
memory::desc AnyDesc(const Shape& shape) {
  return memory::desc(shape, memory::data_type::f32, memory::format_tag::any);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuLinear(
    const DnnlContext& context, int64_t out_features,
    const ActivationDesc& input) {
  AffinePrimitives p;
  p.what = absl::StrCat("linear layer from ", ShapeString(input.shape), " to ",
                        out_features, " features");
  PS_RETURN_IF_ERROR(CheckActivation(p.what, input));
  if (input.shape.size() < 2 || out_features < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(p.what,
                     ": needs [batch, features] and at least one "
                     "feature on each side"));
  }
  if (input.layout != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(p.what, ": needs a plain input; reorder it first"));
  }
  const int64_t batch = input.shape[0];
  const int64_t in_features = NumElements(input.shape) / batch;
  const Shape weights = {out_features, in_features};

  p.src = PlainDesc({batch, in_features});
  p.given_src = p.src;
  p.dst = PlainDesc({batch, out_features});
  p.bias = PlainDesc({out_features});
  p.plain_weights = PlainDesc(weights);
  p.output = ActivationDesc::Plain({batch, out_features});
  const dnnl::inner_product_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, p.src, AnyDesc(weights), p.bias,
       p.dst},
      context.engine);
  const dnnl::inner_product_backward_data::primitive_desc backward_data(
      {p.src, AnyDesc(weights), p.dst}, context.engine, forward);
  const dnnl::inner_product_backward_weights::primitive_desc backward_weights(
      {p.src, AnyDesc(weights), p.bias, p.dst}, context.engine, forward);
  SetPrimitives<InnerProductPrimitives>(forward, backward_data,
                                        backward_weights, &p);
  return std::make_unique<DnnlAffineOp>(context, p);
}

}  // namespace ps
