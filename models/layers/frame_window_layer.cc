#include "models/layers/frame_window_layer.h"

#include <string>
#include <utility>

#include "common/status_macros.h"

namespace ps {
namespace {

class PlannedFrameWindow final : public PlannedLayer {
 public:
  explicit PlannedFrameWindow(std::unique_ptr<UnaryOp> op)
      : op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool backward_reads_output() const override { return false; }
  bool backward_reads_input() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    return op_->Backward(a.x, a.y, a.dy, a.dx);
  }

 private:
  const std::unique_ptr<UnaryOp> op_;
};

class FrameWindowLayer final : public Layer {
 public:
  explicit FrameWindowLayer(const FrameWindowShape& shape) : shape_(shape) {}

  std::string kind() const override { return "frame window"; }

  void Describe(LayerConfigs* layers) const override {
    FrameWindowConfig& config = *layers->Add()->mutable_frame_window();
    config.set_window(static_cast<int32_t>(shape_.window));
    if (shape_.stride != shape_.window) {
      config.set_stride(static_cast<int32_t>(shape_.stride));
    }
    if (shape_.before != config.before()) {
      config.set_before(static_cast<int32_t>(shape_.before));
    }
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    PS_ASSIGN_OR_RETURN(
        std::unique_ptr<UnaryOp> op,
        context.backend->sequences().PlanFrameWindow(shape_, input));
    return std::make_unique<PlannedFrameWindow>(std::move(op));
  }

 private:
  const FrameWindowShape shape_;
};

}  // namespace

std::unique_ptr<Layer> NewFrameWindowLayer(const FrameWindowShape& shape) {
  return std::make_unique<FrameWindowLayer>(shape);
}

}  // namespace ps
