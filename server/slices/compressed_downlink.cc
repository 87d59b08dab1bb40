#include "server/slices/compressed_downlink.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "tensor/backend.h"

namespace ps {
namespace {

class CompressedDownlink final : public Downlink {
 public:
  absl::Status Init(const CompressorConfig& config, const SliceOptions& options,
                    const PayloadBuffer& weights) {
    PS_ASSIGN_OR_RETURN(backend_, NewCpuCompressorBackend(CpuBackendOptions()));
    PS_ASSIGN_OR_RETURN(compressor_,
                        NewDownlinkCompressor(config, options, backend_.get()));
    PS_ASSIGN_OR_RETURN(difference_,
                        backend_->Allocate({options.num_elements}));
    PS_ASSIGN_OR_RETURN(residual_, backend_->Allocate({options.num_elements}));
    const absl::Span<const float> values = DenseValues(weights);
    view_.assign(values.begin(), values.end());
    return absl::OkStatus();
  }

  PayloadBuffer All(const PayloadBuffer&) const override {
    return EncodeDense(view_);
  }

  absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& weights, const std::vector<uint32_t>*) override {
    const absl::Span<const float> values = DenseValues(weights);
    float* const difference = difference_.data();
    for (size_t i = 0; i < view_.size(); ++i) {
      difference[i] = values[i] - view_[i];
    }
    // The difference already contains all elements that were not sent before.
    std::fill_n(residual_.data(), residual_.size(), 0.0f);
    PS_ASSIGN_OR_RETURN(EncodedGradient encoded,
                        compressor_->Compress(difference_, &residual_));
    if (encoded.stats.non_finite) {
      return absl::DataLossError(
          "the weights are not finite: training has diverged; lower the "
          "learning rate");
    }
    AddPayload({encoded.parts[0].span()}, view_.data());
    return DownlinkPayload{std::move(encoded.parts[0]), /*difference=*/true};
  }

  void Save(StateWriter* writer) const override {
    writer->PutBytes(compressor_->SaveState());
    writer->PutFloats(view_);
  }

  absl::Status Load(StateReader* reader) override {
    PS_ASSIGN_OR_RETURN(const absl::string_view compressor, reader->GetBytes());
    PS_RETURN_IF_ERROR(compressor_->LoadState(compressor));
    return reader->GetFloats(absl::MakeSpan(view_));
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Compressor> compressor_;
  Tensor difference_;        // [num_elements]
  Tensor residual_;          // [num_elements]
  std::vector<float> view_;  // [num_elements]
};

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewDownlinkCompressor(
    const CompressorConfig& config, const SliceOptions& options,
    Backend* backend) {
  CompressorOptions compressor;
  compressor.config = config;
  compressor.dense_size = options.num_elements;
  compressor.seed = options.config->seed();
  // This rank is that of no worker, so that the random draws differ from all
  // workers'.
  compressor.worker_rank = options.config->cluster().num_workers();
  compressor.bucket = options.number;
  compressor.backend = backend;
  return NewCompressor(compressor);
}

absl::StatusOr<std::unique_ptr<Downlink>> NewCompressedDownlink(
    const CompressorConfig& config, const SliceOptions& options,
    const PayloadBuffer& weights) {
  auto downlink = std::make_unique<CompressedDownlink>();
  PS_RETURN_IF_ERROR(downlink->Init(config, options, weights));
  return downlink;
}

}  // namespace ps
