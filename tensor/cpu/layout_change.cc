#include "tensor/cpu/layout_change.h"

#include <vector>

#include "common/status_macros.h"

namespace ps {

int64_t ScratchSpace::Add(int64_t size_bytes) {
  constexpr int64_t kLineBytes = 64;
  const int64_t offset = num_floats_;
  num_floats_ += (size_bytes + kLineBytes - 1) / kLineBytes *
                 (kLineBytes / static_cast<int64_t>(sizeof(float)));
  return offset;
}

LayoutChange LayoutChange::Into(const DnnlContext& context, Kind kind,
                                const dnnl::memory::desc& given,
                                const dnnl::memory::desc& wanted,
                                ScratchSpace* space) {
  LayoutChange change;
  if (given == wanted) return change;
  change.offset_ = space->Add(static_cast<int64_t>(wanted.get_size()));
  change.Plan(context, kind, given, wanted);
  return change;
}

LayoutChange LayoutChange::OutOf(const DnnlContext& context, Kind kind,
                                 const dnnl::memory::desc& made,
                                 const dnnl::memory::desc& given,
                                 ScratchSpace* space) {
  LayoutChange change;
  if (made == given) return change;
  change.offset_ = space->Add(static_cast<int64_t>(made.get_size()));
  change.Plan(context, kind, made, given);
  return change;
}

void LayoutChange::Plan(const DnnlContext& context, Kind kind,
                        const dnnl::memory::desc& from,
                        const dnnl::memory::desc& to) {
  context_ = &context;
  kind_ = kind;
  step_.emplace(
      context,
      dnnl::reorder(dnnl::reorder::primitive_desc(context.engine, from,
                                                  context.engine, to)),
      std::vector<DnnlStep::Argument>{Bound(context, DNNL_ARG_FROM, from),
                                      Bound(context, DNNL_ARG_TO, to)},
      kind == Kind::kActivation ? "layout of an activation"
                                : "layout of weights");
}

absl::StatusOr<const float*> LayoutChange::Import(const float* data) {
  if (!step_.has_value()) return data;
  PS_RETURN_IF_ERROR(Run(data, scratch()));
  return scratch();
}

absl::Status LayoutChange::Export(float* data) {
  return step_.has_value() ? Run(scratch(), data) : absl::OkStatus();
}

absl::Status LayoutChange::Run(const float* from, float* to) {
  if (kind_ == Kind::kActivation) ++*context_->num_reorders;
  return step_->Run({{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

}  // namespace ps
