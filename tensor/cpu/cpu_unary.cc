#include "tensor/cpu/cpu_unary.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"
#include "tensor/cpu/cpu_relu_loops.h"

namespace ps {
namespace {

using dnnl::memory;

class DnnlActivationOp final : public UnaryOp {
 public:
  DnnlActivationOp(ActivationDesc output, DnnlStep forward, DnnlStep backward)
      : output_(std::move(output)),
        forward_(std::move(forward)),
        backward_(std::move(backward)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    return forward_.Run({{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  }

  absl::Status Backward(const float*, const float* y, const float* dy,
                        float* dx) override {
    return backward_.Run(
        {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}});
  }

 private:
  const ActivationDesc output_;
  DnnlStep forward_;
  DnnlStep backward_;
};

// The number of elements that a thread takes at a time.
constexpr int64_t kChunkElements = int64_t{1} << 16;

// Replaces oneDNN's ReLU, which turns a NaN into 0.
class CpuReluOp final : public UnaryOp {
 public:
  CpuReluOp(ThreadPool* pool, ActivationDesc output)
      : pool_(pool), output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    pool_->ParallelFor(
        output_.num_floats, kChunkElements, [&](const ChunkRange& range) {
          Relu(x + range.begin, range.end - range.begin, y + range.begin);
        });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float* y, const float* dy,
                        float* dx) override {
    pool_->ParallelFor(
        output_.num_floats, kChunkElements, [&](const ChunkRange& range) {
          ReluGradient(y + range.begin, dy + range.begin,
                       range.end - range.begin, dx + range.begin);
        });
    return absl::OkStatus();
  }

 private:
  ThreadPool* const pool_;  // Not owned.
  const ActivationDesc output_;
};

class DnnlReorderOp final : public UnaryOp {
 public:
  DnnlReorderOp(const DnnlContext& context, ActivationDesc output,
                DnnlStep forward, DnnlStep backward)
      : num_reorders_(context.num_reorders.get()),
        output_(std::move(output)),
        forward_(std::move(forward)),
        backward_(std::move(backward)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    ++*num_reorders_;
    return forward_.Run({{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, y}});
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    ++*num_reorders_;
    return backward_.Run({{DNNL_ARG_FROM, dy}, {DNNL_ARG_TO, dx}});
  }

 private:
  int64_t* const num_reorders_;  // The counter of the context; not owned.
  const ActivationDesc output_;
  DnnlStep forward_;
  DnnlStep backward_;
};

DnnlStep ReorderStep(const DnnlContext& context, const memory::desc& from,
                     const memory::desc& to, std::string what) {
  const dnnl::reorder::primitive_desc reorder(context.engine, from,
                                              context.engine, to);
  return DnnlStep(
      context, dnnl::reorder(reorder),
      {Bound(context, DNNL_ARG_FROM, from), Bound(context, DNNL_ARG_TO, to)},
      std::move(what));
}

// Returns variants that read y for the gradient, since x may be gone.
dnnl::algorithm AlgorithmOf(Activation function) {
  return function == Activation::kTanh
             ? dnnl::algorithm::eltwise_tanh_use_dst_for_bwd
             : dnnl::algorithm::eltwise_logistic_use_dst_for_bwd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuActivation(
    const DnnlContext& context, ThreadPool* pool, Activation function,
    const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("activation function of ", ShapeString(input.shape));
  PS_RETURN_IF_ERROR(CheckActivation(what, input));
  if (function == Activation::kRelu) {
    return std::make_unique<CpuReluOp>(pool, input);
  }
  const memory::desc desc = MemoryDesc(input);
  const dnnl::algorithm algorithm = AlgorithmOf(function);
  const dnnl::eltwise_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, desc}, context.engine);
  const dnnl::eltwise_backward::primitive_desc backward(
      {algorithm, desc, desc}, context.engine, forward);
  return std::make_unique<DnnlActivationOp>(
      input,
      DnnlStep(context, dnnl::eltwise_forward(forward),
               {Bound(context, DNNL_ARG_SRC, desc),
                Bound(context, DNNL_ARG_DST, desc)},
               absl::StrCat(what, " forward")),
      DnnlStep(context, dnnl::eltwise_backward(backward),
               {Bound(context, DNNL_ARG_DST, desc),
                Bound(context, DNNL_ARG_DIFF_DST, desc),
                Bound(context, DNNL_ARG_DIFF_SRC, desc)},
               absl::StrCat(what, " backward")));
}

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuReorder(
    const DnnlContext& context, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("reorder of ", ShapeString(input.shape));
  PS_RETURN_IF_ERROR(CheckActivation(what, input));
  const memory::desc desc = MemoryDesc(input);
  const memory::desc plain = PlainDesc(input.shape);
  return std::make_unique<DnnlReorderOp>(
      context, ActivationDesc::Plain(input.shape),
      ReorderStep(context, desc, plain, absl::StrCat(what, " forward")),
      ReorderStep(context, plain, desc, absl::StrCat(what, " backward")));
}

}  // namespace ps
