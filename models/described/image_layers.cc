// Reads layers for images.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/repeated_field.h"
#include "models/described/layer_reading.h"
#include "models/layers/convolution.h"
#include "models/layers/unary_layers.h"

namespace ps {
namespace {

struct Extents {
  int64_t height = 0;  // 0 if it is wrong.
  int64_t width = 0;
};

// Reads one number for both dimensions, or two.
Extents ReadExtents(const LayerReading& layer, const std::string& field,
                    const google::protobuf::RepeatedField<int32_t>& values) {
  if (values.empty() || values.size() > 2) {
    layer.Wrong(field, absl::StrCat("[", absl::StrJoin(values, ", "), "]"),
                "must be one number, or height and width");
    return {};
  }
  return {std::max(values[0], 0), std::max(values[values.size() - 1], 0)};
}

struct Window {
  Extents extents;
  int64_t stride = 1;
  int64_t padding = 0;
};

// Returns the height or width of a window's output; 0 if it is not known.
int64_t Positions(int64_t extent, int64_t window, const Window& w) {
  if (extent == 0 || window == 0 || w.stride < 1) return 0;
  return (extent + 2 * w.padding - window) / w.stride + 1;
}

// Returns the shape of a window's output; the channels stay.
LayerShape Slide(const LayerReading& layer, const char* what, const Window& w) {
  LayerShape output;
  output.kind = LayerShape::Kind::kImages;
  output.convolved = layer.input.convolved;
  if (!layer.CheckKind(LayerShape::Kind::kImages)) return output;
  output.channels = layer.input.channels;
  const auto fits = [&](int64_t extent, int64_t window) {
    return extent == 0 || extent + 2 * w.padding >= window;
  };
  if (!fits(layer.input.height, w.extents.height) ||
      !fits(layer.input.width, w.extents.width)) {
    layer.WrongInput(absl::StrCat(
        "with a padding of ", w.padding, " on each side it must be at least ",
        w.extents.height, " x ", w.extents.width, ", the ", what));
    return output;
  }
  output.height = Positions(layer.input.height, w.extents.height, w);
  output.width = Positions(layer.input.width, w.extents.width, w);
  return output;
}

}  // namespace

LayerShape ReadConvolution(const LayerReading& layer) {
  const ConvolutionConfig& config = layer.config.convolution();
  Window window;
  window.extents =
      ReadExtents(layer, "convolution.kernel_size", config.kernel_size());
  window.stride = config.stride();
  window.padding = config.padding();
  LayerShape output = Slide(layer, "kernel", window);
  output.channels = config.out_channels();
  output.convolved = true;

  const int64_t in_channels = layer.input.channels;
  const int64_t groups = config.groups();
  if (groups >= 1 && layer.input.is(LayerShape::Kind::kImages) &&
      in_channels % groups != 0) {
    layer.WrongInput(
        absl::StrCat("the number of channels must be divisible by ", groups,
                     ", the groups"));
  }
  if (groups >= 1 && config.out_channels() % groups != 0) {
    layer.Wrong("convolution.out_channels", absl::StrCat(config.out_channels()),
                absl::StrCat("must be divisible by ", groups, ", the groups"));
  }

  ConvolutionShape shape;
  shape.out_channels = config.out_channels();
  shape.kernel_height = window.extents.height;
  shape.kernel_width = window.extents.width;
  shape.stride = config.stride();
  shape.padding = config.padding();
  shape.groups = groups < 1 ? 1 : groups;
  shape.bias = config.bias();
  const Fans fans = {FanIn(in_channels, shape), FanOut(shape)};
  AffineInitializers initial = AffineInitializers::FanInUniform(fans.in);
  initial.weight =
      ReadInitialValues(layer, "convolution.initial_weight",
                        config.initial_weight(), fans, initial.weight);
  initial.bias = ReadInitialValues(layer, "convolution.initial_bias",
                                   config.initial_bias(), Fans(), initial.bias);
  if (layer.makes_layers()) {
    layer.layers->push_back(
        NewConvolutionLayer(layer.name, in_channels, shape, initial));
  }
  return output;
}

LayerShape ReadPooling(const LayerReading& layer) {
  const bool is_max = layer.config.has_max_pooling();
  const PoolingConfig& config =
      is_max ? layer.config.max_pooling() : layer.config.average_pooling();
  const std::string field = is_max ? "max_pooling." : "average_pooling.";
  const int64_t size = config.kernel_size();
  if (config.padding() < 0 || config.padding() > size / 2) {
    layer.Wrong(field + "padding", absl::StrCat(config.padding()),
                "must be at least 0 and at most half of kernel_size");
  }
  PoolingShape shape;
  shape.kind = is_max ? PoolingShape::Kind::kMax : PoolingShape::Kind::kAverage;
  shape.window = size;
  shape.stride = config.stride() == 0 ? size : config.stride();
  shape.padding = config.padding();
  if (layer.makes_layers()) layer.layers->push_back(NewPoolingLayer(shape));
  return Slide(layer, "window", {{size, size}, shape.stride, shape.padding});
}

LayerShape ReadGlobalPooling(const LayerReading& layer) {
  const bool steps = layer.input.is(LayerShape::Kind::kSequence);
  if (!steps && !layer.input.is(LayerShape::Kind::kImages) &&
      !layer.input.is(LayerShape::Kind::kUnknown)) {
    layer.WrongInput(
        "must be images, [batch, channels, height, width], or a sequence, "
        "[steps, batch, features]");
    return LayerShape::Features(0);
  }
  if (layer.makes_layers()) {
    layer.layers->push_back(steps ? NewMeanOfStepsLayer()
                                  : NewGlobalPoolingLayer());
  }
  return LayerShape::Features(layer.input.channels);
}

LayerShape ReadAdaptivePooling(const LayerReading& layer) {
  const Extents extents =
      ReadExtents(layer, "adaptive_pooling.output_size",
                  layer.config.adaptive_pooling().output_size());
  LayerShape output = layer.input;
  output.kind = LayerShape::Kind::kImages;
  if (!layer.CheckKind(LayerShape::Kind::kImages)) output.channels = 0;
  output.height = extents.height;
  output.width = extents.width;
  if (layer.makes_layers()) {
    layer.layers->push_back(
        NewAdaptivePoolingLayer(extents.height, extents.width));
  }
  return output;
}

LayerShape ReadSubsampling(const LayerReading& layer) {
  const SubsamplingConfig& config = layer.config.subsampling();
  SubsamplingShape shape;
  shape.stride = config.stride();
  shape.out_channels =
      config.out_channels() == 0 ? layer.input.channels : config.out_channels();
  LayerShape output =
      Slide(layer, "pixel", {{1, 1}, shape.stride, /*padding=*/0});
  output.channels = shape.out_channels;
  const int64_t added = shape.out_channels - layer.input.channels;
  if (layer.input.is(LayerShape::Kind::kImages) && layer.input.channels > 0 &&
      (added < 0 || added % 2 != 0)) {
    layer.Wrong("subsampling.out_channels", absl::StrCat(shape.out_channels),
                absl::StrCat("must be the input's number of channels, ",
                             layer.input.channels, ", or an even number more"));
  }
  if (layer.makes_layers()) layer.layers->push_back(NewSubsamplingLayer(shape));
  return output;
}

LayerShape ReadFlatten(const LayerReading& layer) {
  if (!layer.CheckKind(LayerShape::Kind::kImages)) {
    return LayerShape::Features(0);
  }
  if (layer.makes_layers()) layer.layers->push_back(NewFlattenLayer());
  return LayerShape::Features(layer.input.num_elements());
}

}  // namespace ps
