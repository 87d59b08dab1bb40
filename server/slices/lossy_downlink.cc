#include "server/slices/lossy_downlink.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "tensor/backend.h"

namespace ps {
namespace {

// The rank in random draws is that of no worker, so that they differ from all
// workers'.
int DrawingRank(const SliceOptions& options) {
  return options.config->cluster().num_workers();
}

class LossyDownlink : public Downlink {
 public:
  LossyDownlink(const SliceOptions& options, const PayloadBuffer& weights)
      : means_(options.rule == UpdateRule::kExchange) {
    if (means_) return;
    const absl::Span<const float> values = DenseValues(weights);
    view_.assign(values.begin(), values.end());
  }

  PayloadBuffer All(const PayloadBuffer& values) const override {
    return means_ ? values : EncodeDense(view_);
  }

 protected:
  absl::Status NotFinite() const {
    return absl::DataLossError(absl::StrCat(
        means_ ? "the mean of the gradients is" : "the weights are",
        " not finite: training has diverged; lower the learning rate"));
  }

  const bool means_;         // Sends means, not changes of weights.
  std::vector<float> view_;  // [num_elements]; empty for means.
};

// Sends the elements that workers pushed in a value code.
class CodedDownlink final : public LossyDownlink {
 public:
  CodedDownlink(const CompressorConfig& config, const SliceOptions& options,
                const PayloadBuffer& weights)
      : LossyDownlink(options, weights),
        random_key_(RandomKey(options.config->seed(),
                              static_cast<uint64_t>(DrawingRank(options)),
                              static_cast<uint64_t>(options.number))),
        residual_(means_ ? options.num_elements : 0) {
    codes_.index_code = config.index_code();
    codes_.value_code = config.value_code();
    codes_.value_config = config.values();
  }

  absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& values, const ChangedElements* changed) override {
    const absl::Span<const float> all = DenseValues(values);
    const auto element = [changed](size_t i) {
      return changed == nullptr ? i : changed->indices[i];
    };
    sent_.resize(changed == nullptr ? all.size() : changed->indices.size());
    for (size_t i = 0; i < sent_.size(); ++i) {
      const size_t at = element(i);
      sent_[i] = means_ ? all[at] + residual_[at] : all[at] - view_[at];
    }
    if (!CheckFiniteWeights(sent_).ok()) return NotFinite();
    const uint64_t key = RandomKey(random_key_, num_updates_++);
    const absl::Span<float> sent = absl::MakeSpan(sent_);
    // Leaves the errors of the code in `sent`.
    PS_ASSIGN_OR_RETURN(
        PayloadBuffer bytes,
        changed == nullptr
            ? EncodeDenseAs(codes_, sent, key)
            : EncodeElements(codes_, changed->indices, sent, /*begin=*/0,
                             static_cast<int64_t>(all.size()), key));
    if (means_) {
      for (size_t i = 0; i < sent_.size(); ++i)
        residual_[element(i)] = sent_[i];
    } else {
      AddPayload({bytes.span()}, view_.data());
    }
    return DownlinkPayload{std::move(bytes), /*difference=*/!means_,
                           /*covers_pushes=*/true};
  }

  void Save(StateWriter* writer) const override {
    writer->PutInt(static_cast<int64_t>(num_updates_));
    writer->PutFloats(means_ ? residual_ : view_);
  }

  absl::Status Load(StateReader* reader) override {
    PS_ASSIGN_OR_RETURN(const int64_t num_updates, reader->GetInt());
    num_updates_ = static_cast<uint64_t>(num_updates);
    return reader->GetFloats(absl::MakeSpan(means_ ? residual_ : view_));
  }

 private:
  PayloadCodes codes_;
  const uint64_t random_key_;
  uint64_t num_updates_ = 0;
  std::vector<float> residual_;  // [num_elements] for means, or empty.
  std::vector<float> sent_;      // Scratch memory.
};

// Sends what a compressor selects.
class CompressedDownlink final : public LossyDownlink {
 public:
  using LossyDownlink::LossyDownlink;

  absl::Status Init(const CompressorConfig& config,
                    const SliceOptions& options) {
    PS_ASSIGN_OR_RETURN(backend_, NewCpuCompressorBackend(CpuBackendOptions()));
    CompressorOptions compressor;
    compressor.config = config;
    compressor.dense_size = options.num_elements;
    compressor.seed = options.config->seed();
    compressor.worker_rank = DrawingRank(options);
    compressor.bucket = options.number;
    compressor.backend = backend_.get();
    PS_ASSIGN_OR_RETURN(compressor_, NewCompressor(compressor));
    PS_ASSIGN_OR_RETURN(sent_, backend_->Allocate({options.num_elements}));
    PS_ASSIGN_OR_RETURN(residual_, backend_->Allocate({options.num_elements}));
    return absl::OkStatus();
  }

  absl::StatusOr<DownlinkPayload> Changes(const PayloadBuffer& values,
                                          const ChangedElements*) override {
    const absl::Span<const float> all = DenseValues(values);
    if (means_) {
      PS_RETURN_IF_ERROR(backend_->CopyFromHost(all.data(), &sent_));
    } else {
      float* const difference = sent_.data();
      for (size_t i = 0; i < view_.size(); ++i) {
        difference[i] = all[i] - view_[i];
      }
      // The difference already contains all elements that were not sent before.
      std::fill_n(residual_.data(), residual_.size(), 0.0f);
    }
    PS_ASSIGN_OR_RETURN(EncodedGradient encoded,
                        compressor_->Compress(sent_, &residual_));
    if (encoded.stats.non_finite) return NotFinite();
    if (!means_) AddPayload({encoded.parts[0].span()}, view_.data());
    return DownlinkPayload{std::move(encoded.parts[0]),
                           /*difference=*/!means_};
  }

  void Save(StateWriter* writer) const override {
    writer->PutBytes(compressor_->SaveState());
    if (means_) {
      writer->PutFloats(
          {residual_.data(), static_cast<size_t>(residual_.size())});
    } else {
      writer->PutFloats(view_);
    }
  }

  absl::Status Load(StateReader* reader) override {
    PS_ASSIGN_OR_RETURN(const absl::string_view compressor, reader->GetBytes());
    PS_RETURN_IF_ERROR(compressor_->LoadState(compressor));
    if (!means_) return reader->GetFloats(absl::MakeSpan(view_));
    return reader->GetFloats(
        {residual_.data(), static_cast<size_t>(residual_.size())});
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Compressor> compressor_;
  Tensor sent_;      // [num_elements]
  Tensor residual_;  // [num_elements]
};

}  // namespace

absl::StatusOr<std::unique_ptr<Downlink>> NewLossyDownlink(
    const DownlinkConfig& config, const SliceOptions& options,
    const PayloadBuffer& weights) {
  const CompressorConfig& compressor = config.compressor();
  if (config.mode() != DownlinkConfig::COMPRESSED &&
      compressor.name() == "none") {
    return std::make_unique<CodedDownlink>(compressor, options, weights);
  }
  auto downlink = std::make_unique<CompressedDownlink>(options, weights);
  PS_RETURN_IF_ERROR(downlink->Init(compressor, options));
  return downlink;
}

}  // namespace ps
