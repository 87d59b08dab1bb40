#include "tensor/cpu/cpu_linear.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"
#include "tensor/cpu/layout_change.h"

namespace ps {
namespace {

using dnnl::memory;

// Three primitives, and the layouts of the weights that each prefers.
struct LinearPrimitives {
  std::string what;  // The name of the operation for errors.
  dnnl::inner_product_forward::primitive_desc forward;
  dnnl::inner_product_backward_data::primitive_desc backward_data;
  dnnl::inner_product_backward_weights::primitive_desc backward_weights;
  memory::desc src;
  memory::desc dst;
  memory::desc bias;
  memory::desc weights;  // The weights in PyTorch's layout.
};

class CpuLinear final : public AffineOp {
 public:
  // `forward` and so on are the scratch space of each pass.
  CpuLinear(const DnnlContext& context, const LinearPrimitives& p,
            const Shape& output, ScratchSpace* forward,
            ScratchSpace* backward_data, ScratchSpace* backward_weights)
      : output_(ActivationDesc::Plain(output)),
        forward_(context, dnnl::inner_product_forward(p.forward),
                 {Bound(context, DNNL_ARG_SRC, p.src),
                  Bound(context, DNNL_ARG_WEIGHTS, p.forward.weights_desc()),
                  Bound(context, DNNL_ARG_BIAS, p.bias),
                  Bound(context, DNNL_ARG_DST, p.dst)},
                 absl::StrCat(p.what, " forward")),
        backward_data_(
            context, dnnl::inner_product_backward_data(p.backward_data),
            {Bound(context, DNNL_ARG_DIFF_DST, p.dst),
             Bound(context, DNNL_ARG_WEIGHTS, p.backward_data.weights_desc()),
             Bound(context, DNNL_ARG_DIFF_SRC, p.src)},
            absl::StrCat(p.what, " backward data")),
        backward_weights_(
            context, dnnl::inner_product_backward_weights(p.backward_weights),
            {Bound(context, DNNL_ARG_SRC, p.src),
             Bound(context, DNNL_ARG_DIFF_DST, p.dst),
             Bound(context, DNNL_ARG_DIFF_WEIGHTS,
                   p.backward_weights.diff_weights_desc()),
             Bound(context, DNNL_ARG_DIFF_BIAS, p.bias)},
            absl::StrCat(p.what, " backward weights")),
        forward_weights_(
            LayoutChange::Into(context, LayoutChange::Kind::kWeights, p.weights,
                               p.forward.weights_desc(), forward)),
        backward_data_weights_(
            LayoutChange::Into(context, LayoutChange::Kind::kWeights, p.weights,
                               p.backward_data.weights_desc(), backward_data)),
        diff_weights_(
            LayoutChange::OutOf(context, LayoutChange::Kind::kWeights,
                                p.backward_weights.diff_weights_desc(),
                                p.weights, backward_weights)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_ASSIGN_OR_RETURN(weight, forward_weights_.Import(weight));
    return forward_.Run({{DNNL_ARG_SRC, x},
                         {DNNL_ARG_WEIGHTS, weight},
                         {DNNL_ARG_BIAS, bias},
                         {DNNL_ARG_DST, y}});
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    PS_RETURN_IF_ERROR(backward_weights_.Run(
        {{DNNL_ARG_SRC, x},
         {DNNL_ARG_DIFF_DST, dy},
         {DNNL_ARG_DIFF_WEIGHTS, diff_weights_.Target(dweight)},
         {DNNL_ARG_DIFF_BIAS, dbias}}));
    PS_RETURN_IF_ERROR(diff_weights_.Export(dweight));
    if (dx == nullptr) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(weight, backward_data_weights_.Import(weight));
    return backward_data_.Run({{DNNL_ARG_DIFF_DST, dy},
                               {DNNL_ARG_WEIGHTS, weight},
                               {DNNL_ARG_DIFF_SRC, dx}});
  }

 private:
  const ActivationDesc output_;
  DnnlStep forward_;
  DnnlStep backward_data_;
  DnnlStep backward_weights_;
  LayoutChange forward_weights_;
  LayoutChange backward_data_weights_;
  LayoutChange diff_weights_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuLinear(
    const DnnlContext& context, int64_t out_features,
    const ActivationDesc& input) {
  LinearPrimitives p;
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
  const memory::desc any(weights, memory::data_type::f32,
                         memory::format_tag::any);
  p.src = PlainDesc({batch, in_features});
  p.dst = PlainDesc({batch, out_features});
  p.bias = PlainDesc({out_features});
  p.weights = PlainDesc(weights);
  p.forward = {{dnnl::prop_kind::forward_training, p.src, any, p.bias, p.dst},
               context.engine};
  p.backward_data = {{p.src, any, p.dst}, context.engine, p.forward};
  p.backward_weights = {{p.src, any, p.bias, p.dst}, context.engine, p.forward};
  ScratchSpace forward, backward_data, backward_weights;
  auto op =
      std::make_unique<CpuLinear>(context, p, Shape{batch, out_features},
                                  &forward, &backward_data, &backward_weights);
  PS_RETURN_IF_ERROR(context.scratch->Reserve(
      std::max({forward.num_floats(), backward_data.num_floats(),
                backward_weights.num_floats()})));
  return op;
}

}  // namespace ps
