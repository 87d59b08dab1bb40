#include "models/layers/convolution.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/describe_initializer.h"

namespace ps {
namespace {

class ConvolutionLayer final : public Layer {
 public:
  ConvolutionLayer(std::string name, int64_t in_channels,
                   const ConvolutionShape& shape,
                   const AffineInitializers& initializers)
      : name_(std::move(name)),
        in_channels_(in_channels),
        shape_(shape),
        weight_({shape.out_channels, in_channels / shape.groups,
                 shape.kernel_height, shape.kernel_width}),
        initializers_(initializers) {}

  std::string kind() const override { return "convolution"; }

  std::vector<LayerParameter> parameters() const override {
    std::vector<LayerParameter> parameters = {
        {absl::StrCat(name_, ".weight"), weight_, initializers_.weight}};
    if (shape_.bias) {
      parameters.push_back({absl::StrCat(name_, ".bias"),
                            {shape_.out_channels},
                            initializers_.bias});
    }
    return parameters;
  }

  void Describe(LayerConfigs* layers) const override {
    LayerConfig& layer = *layers->Add();
    layer.set_name(name_);
    ConvolutionConfig& config = *layer.mutable_convolution();
    config.set_out_channels(static_cast<int32_t>(shape_.out_channels));
    config.add_kernel_size(static_cast<int32_t>(shape_.kernel_height));
    if (shape_.kernel_width != shape_.kernel_height) {
      config.add_kernel_size(static_cast<int32_t>(shape_.kernel_width));
    }
    if (shape_.stride != config.stride()) {
      config.set_stride(static_cast<int32_t>(shape_.stride));
    }
    if (shape_.padding != config.padding()) {
      config.set_padding(static_cast<int32_t>(shape_.padding));
    }
    if (shape_.groups != config.groups()) {
      config.set_groups(static_cast<int32_t>(shape_.groups));
    }
    if (!shape_.bias) config.set_bias(false);
    const Fans fans = {FanIn(in_channels_, shape_), FanOut(shape_)};
    const Initializer usual = Initializer::FanInUniform(fans.in);
    DescribeInitializer(initializers_.weight, usual, fans,
                        [&] { return config.mutable_initial_weight(); });
    if (shape_.bias) {
      DescribeInitializer(initializers_.bias, usual, Fans(),
                          [&] { return config.mutable_initial_bias(); });
    }
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    if (input.shape.size() != 4 || input.shape[1] != in_channels_) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, " gets ", ShapeString(input.shape),
                       "; needs [batch, ", in_channels_, ", height, width]"));
    }
    auto op = context.backend->nn().PlanConvolution(shape_, input);
    PS_RETURN_IF_ERROR(Annotate(op.status(), name_));
    AffinePlan plan;
    plan.op = *std::move(op);
    if (shape_.bias) plan.bias_offset = NumElements(weight_);
    return NewPlannedAffine(std::move(plan));
  }

 private:
  const std::string name_;
  const int64_t in_channels_;
  const ConvolutionShape shape_;
  const Shape weight_;  // [out, in / groups, height, width]
  const AffineInitializers initializers_;
};

}  // namespace

std::unique_ptr<Layer> NewConvolutionLayer(std::string name,
                                           int64_t in_channels,
                                           const ConvolutionShape& shape) {
  return NewConvolutionLayer(
      std::move(name), in_channels, shape,
      AffineInitializers::FanInUniform(FanIn(in_channels, shape)));
}

std::unique_ptr<Layer> NewConvolutionLayer(
    std::string name, int64_t in_channels, const ConvolutionShape& shape,
    const AffineInitializers& initializers) {
  return std::make_unique<ConvolutionLayer>(std::move(name), in_channels, shape,
                                            initializers);
}

ConvolutionShape SquareKernel(int64_t out_channels, int64_t extent,
                              int64_t stride) {
  ConvolutionShape shape;
  shape.out_channels = out_channels;
  shape.kernel_height = extent;
  shape.kernel_width = extent;
  shape.stride = stride;
  shape.padding = extent / 2;
  shape.bias = false;
  return shape;
}

int64_t FanIn(int64_t in_channels, const ConvolutionShape& shape) {
  return in_channels / shape.groups * shape.kernel_height * shape.kernel_width;
}

int64_t FanOut(const ConvolutionShape& shape) {
  return shape.out_channels / shape.groups * shape.kernel_height *
         shape.kernel_width;
}

}  // namespace ps
