#include "tensor/cpu/cpu_pooling.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"
#include "tensor/cpu/cpu_pooling_loops.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The number of matrices that a thread takes at a time.
constexpr int64_t kMatricesPerChunk = 4;

class CpuPooling : public UnaryOp {
 public:
  CpuPooling(ThreadPool* pool, const PoolingGeometry& geometry,
             int64_t num_matrices, ActivationDesc output)
      : pool_(pool),
        geometry_(geometry),
        num_matrices_(num_matrices),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

 protected:
  // Calls body(offset in the input, offset in the output) for every matrix.
  template <typename Body>
  void ForEachMatrix(const Body& body) {
    pool_->ParallelFor(
        num_matrices_, kMatricesPerChunk, [&](const ChunkRange& range) {
          for (int64_t m = range.begin; m < range.end; ++m) {
            body(m * geometry_.in_size(), m * geometry_.out_size());
          }
        });
  }

  ThreadPool* const pool_;  // Not owned.
  const PoolingGeometry geometry_;
  const int64_t num_matrices_;
  const ActivationDesc output_;
};

class CpuMaxPooling final : public CpuPooling {
 public:
  CpuMaxPooling(ThreadPool* pool, const PoolingGeometry& geometry,
                int64_t num_matrices, const ActivationDesc& output)
      : CpuPooling(pool, geometry, num_matrices, output),
        maxima_(output.num_floats) {}

  absl::Status Forward(const float* x, float* y) override {
    ForEachMatrix([&](int64_t in, int64_t out) {
      MaxPool(x + in, geometry_, y + out, &maxima_[out]);
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    ForEachMatrix([&](int64_t in, int64_t out) {
      MaxPoolBackward(dy + out, &maxima_[out], geometry_, dx + in);
    });
    return absl::OkStatus();
  }

 private:
  std::vector<int32_t> maxima_;
};

class CpuAveragePooling final : public CpuPooling {
 public:
  using CpuPooling::CpuPooling;

  absl::Status Forward(const float* x, float* y) override {
    ForEachMatrix([&](int64_t in, int64_t out) {
      AveragePool(x + in, geometry_, y + out);
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    ForEachMatrix([&](int64_t in, int64_t out) {
      AveragePoolBackward(dy + out, geometry_, dx + in);
    });
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuPooling(
    ThreadPool* pool, const PoolingShape& shape, const ActivationDesc& input) {
  const bool is_max = shape.kind == PoolingShape::Kind::kMax;
  const std::string what =
      absl::StrCat(is_max ? "max" : "average", " pooling of ",
                   ShapeString(input.shape), " with windows of ", shape.window,
                   ", stride ", shape.stride, ", padding ", shape.padding);
  PS_RETURN_IF_ERROR(CheckImages(what, input));
  // With more padding, some windows would contain nothing but padding.
  if (shape.window < 1 || shape.stride < 1 || shape.padding < 0 ||
      shape.padding > shape.window / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs window and stride of at least 1, and padding of at least 0 "
        "and at most half the window"));
  }
  const ChannelMatrices matrices(input);
  PoolingGeometry g;
  g.height = input.shape[2];
  g.width = input.shape[3];
  g.window = shape.window;
  g.stride = shape.stride;
  g.padding = shape.padding;
  g.columns = matrices.width;
  const int64_t room_height = g.height + 2 * g.padding - g.window;
  const int64_t room_width = g.width + 2 * g.padding - g.window;
  if (room_height < 0 || room_width < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the window is larger than the padded input"));
  }
  if (g.height * g.width > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": an image has 2^31 pixels or more"));
  }
  g.out_height = room_height / g.stride + 1;
  g.out_width = room_width / g.stride + 1;
  const ActivationDesc output = ImageActivation(
      {input.shape[0], input.shape[1], g.out_height, g.out_width},
      MatrixOrder(input));
  if (is_max) {
    return std::make_unique<CpuMaxPooling>(pool, g, matrices.count, output);
  }
  return std::make_unique<CpuAveragePooling>(pool, g, matrices.count, output);
}

}  // namespace ps
