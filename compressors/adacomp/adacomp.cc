// AdaComp selects elements bin by bin, by the bin's own maximum, with one scale
// per tensor, and writes a code of its own.
//
// Departures from the paper: short tensors and tensors with one dimension are
// sent unchanged, and nothing is sent if the scale is too small for a float.
// Parts may be cut anywhere; the selection and the scale are those of the whole
// tensor.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "compressors/adacomp/adacomp_bins.h"
#include "compressors/adacomp/adacomp_words.h"
#include "compressors/adacomp/adacomp_writer.h"
#include "compressors/tensorwise.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

// The number of elements processed together; they stay in the cache.
constexpr int64_t kBlock = 16384;
static_assert(kBlock > kMaxAdaCompBinSize);

constexpr size_t kConvolutionExtents = 4;

// A tensor with its bins and the last selection.
struct Layer {
  TensorRange range;
  int bin_size = 0;  // 0: sent unchanged.
  std::vector<float> dense;
  float scale = 0;
  Selection chosen;  // Positions in the tensor; values are what is kept there.
  std::vector<uint8_t> negative;
};

int BinSize(const TensorRange& range, const AdaCompConfig& config) {
  if (range.shape.size() == 1 || range.size() < config.dense_below()) return 0;
  return range.shape.size() == kConvolutionExtents
             ? config.convolution_bin_size()
             : config.bin_size();
}

class AdaCompCoder final : public TensorCoder {
 public:
  explicit AdaCompCoder(const CompressorOptions& options)
      : scale_factor_(options.config.adacomp().scale_factor()),
        backend_(options.backend) {
    for (TensorRange& range : TensorRanges(options)) {
      Layer layer;
      layer.bin_size = BinSize(range, options.config.adacomp());
      layer.range = std::move(range);
      layers_.push_back(std::move(layer));
    }
  }

  IndexCode index_code() const override { return IndexCode::kAdaComp; }
  ValueCode value_code() const override { return ValueCode::kAdaComp; }

  absl::Status Decide(const TensorwiseInput& input, Tensor* u,
                      CompressionStats*) override {
    for (Layer& layer : layers_) {
      Tensor sum = u->Slice(layer.range.begin, layer.range.end);
      if (layer.bin_size == 0) {
        layer.dense.resize(layer.range.size());
        PS_RETURN_IF_ERROR(backend_->CopyToHost(sum, layer.dense.data()));
        PS_RETURN_IF_ERROR(backend_->sparse().Clear(sum.data(), sum.size()));
        continue;
      }
      PS_RETURN_IF_ERROR(Choose(input, sum, &layer));
      Quantize(&layer);
      PS_RETURN_IF_ERROR(backend_->sparse().Scatter(layer.chosen, sum.data()));
    }
    return absl::OkStatus();
  }

  int64_t Append(size_t tensor, int64_t begin, int64_t end,
                 std::vector<uint8_t>* bytes) const override {
    const Layer& layer = layers_[tensor];
    if (layer.bin_size == 0) {
      AppendDenseSegment(
          absl::MakeSpan(layer.dense).subspan(begin, end - begin), bytes);
      return end - begin;
    }
    const absl::Span<const uint32_t> all = layer.chosen.indices;
    // A sum of 64 bits also fits the end of a vector of 2^32 - 1 elements.
    const auto below = [](uint32_t index, int64_t bound) {
      return index < bound;
    };
    const size_t first =
        std::lower_bound(all.begin(), all.end(), begin, below) - all.begin();
    const size_t last =
        std::lower_bound(all.begin(), all.end(), end, below) - all.begin();
    AdaCompPiece piece;
    piece.bin_size = layer.bin_size;
    piece.begin = begin;
    piece.end = end;
    piece.scale = layer.scale;
    piece.positions = all.subspan(first, last - first);
    piece.negative =
        absl::MakeSpan(layer.negative).subspan(first, last - first);
    AppendAdaCompSegment(piece, bytes);
    return static_cast<int64_t>(last - first);
  }

 private:
  absl::Status Choose(const TensorwiseInput& input, const Tensor& sum,
                      Layer* layer) {
    AdaCompBins bins(layer->bin_size, scale_factor_);
    layer->chosen.clear();
    const int64_t step = kBlock / layer->bin_size * layer->bin_size;
    for (int64_t begin = 0; begin < sum.size(); begin += step) {
      const int64_t end = std::min(sum.size(), begin + step);
      const int64_t at = layer->range.begin + begin;
      const int64_t n = end - begin;
      AdaCompBlock block;
      block.begin = begin;
      PS_RETURN_IF_ERROR(Read(sum.Slice(begin, end), sum_, &block.sum));
      PS_RETURN_IF_ERROR(
          Read(input.gradient->Slice(at, at + n), gradient_, &block.gradient));
      if (scale_factor_ != 2) {
        PS_RETURN_IF_ERROR(Read(input.residual->Slice(at, at + n), residual_,
                                &block.residual));
      }
      bins.Choose(block, &layer->chosen);
    }
    layer->scale = bins.scale();
    if (layer->scale == 0) layer->chosen.clear();
    return absl::OkStatus();
  }

  // `memory`: [kBlock].
  absl::Status Read(const Tensor& tensor, std::vector<float>& memory,
                    absl::Span<const float>* block) {
    *block = absl::MakeSpan(memory.data(), tensor.size());
    return backend_->CopyToHost(tensor, memory.data());
  }

  // Each chosen element is sent as the scale with its sign; the rest is kept.
  static void Quantize(Layer* layer) {
    std::vector<float>& values = layer->chosen.values;
    layer->negative.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const bool negative = values[i] < 0;
      layer->negative[i] = negative ? 1 : 0;
      values[i] -= negative ? -layer->scale : layer->scale;
    }
  }

  const float scale_factor_;
  Backend* const backend_;  // Not owned.
  std::vector<Layer> layers_;
  std::vector<float> sum_ = std::vector<float>(kBlock);
  std::vector<float> gradient_ = std::vector<float>(kBlock);
  std::vector<float> residual_ = std::vector<float>(kBlock);
};

absl::StatusOr<std::unique_ptr<Compressor>> NewAdaComp(
    const CompressorOptions& options) {
  return NewTensorwiseCompressor(options,
                                 std::make_unique<AdaCompCoder>(options));
}

REGISTER_COMPRESSOR("adacomp",
                    "the elements near the maximum of their bin; no ratio",
                    CompressorPlugin(NewAdaComp).WithOwnCode());

}  // namespace
}  // namespace ps
