#include "server/slices/mean_downlink.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "server/slices/compressed_downlink.h"
#include "tensor/backend.h"

namespace ps {
namespace {

absl::Status NotFinite() {
  return absl::DataLossError(
      "the mean of the gradients is not finite: training has diverged; lower "
      "the learning rate");
}

class CodedMean final : public Downlink {
 public:
  CodedMean(const CompressorConfig& config, const SliceOptions& options)
      // This rank is that of no worker, so that the random draws differ from
      // all workers'.
      : random_key_(RandomKey(
            options.config->seed(),
            static_cast<uint64_t>(options.config->cluster().num_workers()),
            static_cast<uint64_t>(options.number))),
        residual_(options.num_elements) {
    codes_.index_code = config.index_code();
    codes_.value_code = config.value_code();
    codes_.value_config = config.values();
  }

  PayloadBuffer All(const PayloadBuffer& mean) const override { return mean; }

  absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& mean,
      const std::vector<uint32_t>* changed) override {
    const absl::Span<const float> all = DenseValues(mean);
    const auto element = [changed](size_t i) {
      return changed == nullptr ? i : (*changed)[i];
    };
    values_.resize(changed == nullptr ? all.size() : changed->size());
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = all[element(i)] + residual_[element(i)];
    }
    if (!CheckFiniteWeights(values_).ok()) return NotFinite();
    const uint64_t key = RandomKey(random_key_, num_updates_++);
    const absl::Span<float> values = absl::MakeSpan(values_);
    // Leaves the errors of the code in `values`.
    PS_ASSIGN_OR_RETURN(
        PayloadBuffer bytes,
        changed == nullptr
            ? EncodeDenseAs(codes_, values, key)
            : EncodeElements(codes_, *changed, values, /*begin=*/0,
                             static_cast<int64_t>(all.size()), key));
    for (size_t i = 0; i < values_.size(); ++i) {
      residual_[element(i)] = values_[i];
    }
    return DownlinkPayload{std::move(bytes), /*difference=*/false,
                           /*covers_pushes=*/true};
  }

  void Save(StateWriter* writer) const override {
    writer->PutInt(static_cast<int64_t>(num_updates_));
    writer->PutFloats(residual_);
  }

  absl::Status Load(StateReader* reader) override {
    PS_ASSIGN_OR_RETURN(const int64_t num_updates, reader->GetInt());
    num_updates_ = static_cast<uint64_t>(num_updates);
    return reader->GetFloats(absl::MakeSpan(residual_));
  }

 private:
  PayloadCodes codes_;
  const uint64_t random_key_;
  uint64_t num_updates_ = 0;
  std::vector<float> residual_;  // [num_elements]
  std::vector<float> values_;    // Scratch memory.
};

class CompressedMean final : public Downlink {
 public:
  absl::Status Init(const CompressorConfig& config,
                    const SliceOptions& options) {
    PS_ASSIGN_OR_RETURN(backend_, NewCpuCompressorBackend(CpuBackendOptions()));
    PS_ASSIGN_OR_RETURN(compressor_,
                        NewDownlinkCompressor(config, options, backend_.get()));
    PS_ASSIGN_OR_RETURN(mean_, backend_->Allocate({options.num_elements}));
    PS_ASSIGN_OR_RETURN(residual_, backend_->Allocate({options.num_elements}));
    return absl::OkStatus();
  }

  PayloadBuffer All(const PayloadBuffer& mean) const override { return mean; }

  absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& mean, const std::vector<uint32_t>*) override {
    PS_RETURN_IF_ERROR(
        backend_->CopyFromHost(DenseValues(mean).data(), &mean_));
    PS_ASSIGN_OR_RETURN(EncodedGradient encoded,
                        compressor_->Compress(mean_, &residual_));
    if (encoded.stats.non_finite) return NotFinite();
    return DownlinkPayload{std::move(encoded.parts[0])};
  }

  void Save(StateWriter* writer) const override {
    writer->PutBytes(compressor_->SaveState());
    writer->PutFloats(
        {residual_.data(), static_cast<size_t>(residual_.size())});
  }

  absl::Status Load(StateReader* reader) override {
    PS_ASSIGN_OR_RETURN(const absl::string_view compressor, reader->GetBytes());
    PS_RETURN_IF_ERROR(compressor_->LoadState(compressor));
    return reader->GetFloats(
        {residual_.data(), static_cast<size_t>(residual_.size())});
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Compressor> compressor_;
  Tensor mean_;      // [num_elements]
  Tensor residual_;  // [num_elements]
};

}  // namespace

absl::StatusOr<std::unique_ptr<Downlink>> NewMeanDownlink(
    const CompressorConfig& config, const SliceOptions& options) {
  if (config.name() == "none") {
    return std::make_unique<CodedMean>(config, options);
  }
  auto downlink = std::make_unique<CompressedMean>();
  PS_RETURN_IF_ERROR(downlink->Init(config, options));
  return downlink;
}

}  // namespace ps
