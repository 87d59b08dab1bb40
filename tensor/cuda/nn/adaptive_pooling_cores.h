// Averages over parts of images, which may overlap, and over whole images.
// Arrays are as in pooling_cores.h.
#ifndef TENSOR_CUDA_NN_ADAPTIVE_POOLING_CORES_H_
#define TENSOR_CUDA_NN_ADAPTIVE_POOLING_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/nn/pooling_cores.h"

namespace ps {

// One direction: `extent` is divided into `parts` parts, where part i is
// [floor(i extent / parts), ceil((i + 1) extent / parts)).
struct PartGeometry {
  int64_t extent = 1;
  int64_t parts = 1;

  PS_HOST_DEVICE IndexRange Inputs(int64_t part) const {
    return {part * extent / parts, ((part + 1) * extent + parts - 1) / parts};
  }

  // The parts that contain input i: those with i < ceil((part + 1) extent /
  // parts) and floor(part extent / parts) <= i.
  PS_HOST_DEVICE IndexRange Parts(int64_t i) const {
    return {i * parts / extent, ((i + 1) * parts + extent - 1) / extent};
  }
};

struct AdaptiveGeometry {
  PartGeometry rows;
  PartGeometry columns;
  Divisor height;
  Divisor width;
  Divisor out_height;
  Divisor out_width;
  Divisor inner;

  PS_HOST_DEVICE float Share(const IndexRange& r, const IndexRange& c) const {
    return 1 / static_cast<float>((r.end - r.begin) * (c.end - c.begin));
  }
};

// Count: outputs.
template <typename T>
struct AdaptivePoolCore : ElementCore {
  static constexpr const char* kName = "AdaptivePool";
  AdaptiveGeometry geometry;
  const T* x;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const AdaptiveGeometry& g = geometry;
    const PlanePixel out(i, g.out_height, g.out_width, g.inner);
    const IndexRange rows = g.rows.Inputs(out.row);
    const IndexRange columns = g.columns.Inputs(out.column);
    const T* const plane = x + out.First(g.height, g.width, g.inner);
    float sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        sum += plane[(h * g.width.value() + w) * g.inner.value()];
      }
    }
    y[i] = sum * g.Share(rows, columns);
  }
};

// Count: inputs.
template <typename T>
struct AdaptivePoolGradientCore : ElementCore {
  static constexpr const char* kName = "AdaptivePoolGradient";
  AdaptiveGeometry geometry;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const AdaptiveGeometry& g = geometry;
    const PlanePixel in(i, g.height, g.width, g.inner);
    const IndexRange rows = g.rows.Parts(in.row);
    const IndexRange columns = g.columns.Parts(in.column);
    float sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const int64_t row =
          (in.plane * g.out_height.value() + h) * g.out_width.value();
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        sum += dy[in.Place(row + w, g.inner)] *
               g.Share(g.rows.Inputs(h), g.columns.Inputs(w));
      }
    }
    dx[i] = sum;
  }
};

// means[p]: the mean of the pixels of plane p, where inner = 1. A warp of 32
// threads shares a plane, so that small images leave few threads idle. Count:
// blocks of kPlanes planes.
struct PlaneMeanCore : BlockCore {
  static constexpr const char* kName = "PlaneMean";
  static constexpr int kLanes = 32;
  static constexpr int kLanesLog2 = 5;
  static constexpr int kPlanes = kBlockThreads / kLanes;
  static constexpr int kPhases = kLanesLog2 + 2;
  struct Shared {
    float sums[kBlockThreads];
  };
  int64_t planes;
  int64_t pixels;
  const float* x;
  float* means;

  static int64_t NumBlocks(int64_t planes) {
    return (planes + kPlanes - 1) / kPlanes;
  }

  PS_HOST_DEVICE void operator()(int phase, int64_t block, int thread,
                                 Shared* shared) const {
    const int64_t plane = block * kPlanes + thread / kLanes;
    const int lane = thread % kLanes;
    if (plane >= planes) return;
    float* const sums = shared->sums + (thread - lane);
    if (phase == 0) {
      float sum = 0;
      for (int64_t i = lane; i < pixels; i += kLanes) {
        sum += x[plane * pixels + i];
      }
      sums[lane] = sum;
    } else if (phase <= kLanesLog2) {
      const int half = kLanes >> phase;
      if (lane < half) sums[lane] += sums[lane + half];
    } else if (lane == 0) {
      means[plane] = sums[0] / static_cast<float>(pixels);
    }
  }
};

// The same with the channels last: means[image, channel]. Adjacent threads read
// adjacent channels. Count: images x channels.
template <typename T>
struct ChannelMeanCore : ElementCore {
  static constexpr const char* kName = "ChannelMean";
  Divisor channels;
  int64_t pixels;
  const T* x;
  T* means;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t channel = 0;
    const int64_t image = channels.Divide(i, &channel);
    const T* const first = x + image * pixels * channels.value() + channel;
    float sum = 0;
    for (int64_t p = 0; p < pixels; ++p) sum += first[p * channels.value()];
    means[i] = sum / static_cast<float>(pixels);
  }
};

// Count: pixels of all planes.
template <typename T>
struct PlaneMeanGradientCore : ElementCore {
  static constexpr const char* kName = "PlaneMeanGradient";
  Divisor pixels;
  Divisor inner;
  float share;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t inner_place = 0;
    const int64_t plane = pixels.Quotient(inner.Divide(i, &inner_place));
    dx[i] = dy[plane * inner.value() + inner_place] * share;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_ADAPTIVE_POOLING_CORES_H_
