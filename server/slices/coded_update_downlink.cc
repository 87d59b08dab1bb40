#include "server/slices/coded_update_downlink.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"

namespace ps {
namespace {

class CodedUpdateDownlink final : public Downlink {
 public:
  CodedUpdateDownlink(const CompressorConfig& config,
                      const SliceOptions& options, const PayloadBuffer& weights)
      // This rank is that of no worker, so that the random draws differ from
      // all workers'.
      : random_key_(RandomKey(
            options.config->seed(),
            static_cast<uint64_t>(options.config->cluster().num_workers()),
            static_cast<uint64_t>(options.number))) {
    codes_.index_code = config.index_code();
    codes_.value_code = config.value_code();
    codes_.value_config = config.values();
    const absl::Span<const float> values = DenseValues(weights);
    view_.assign(values.begin(), values.end());
  }

  PayloadBuffer All(const PayloadBuffer&) const override {
    return EncodeDense(view_);
  }

  absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& weights,
      const std::vector<uint32_t>* changed) override {
    const absl::Span<const float> all = DenseValues(weights);
    const auto difference = [&](size_t i) { return all[i] - view_[i]; };
    changes_.resize(changed == nullptr ? all.size() : changed->size());
    for (size_t i = 0; i < changes_.size(); ++i) {
      changes_[i] = difference(changed == nullptr ? i : (*changed)[i]);
    }
    PS_RETURN_IF_ERROR(CheckFiniteWeights(changes_));
    const uint64_t key = RandomKey(random_key_, num_updates_++);
    const absl::Span<float> values = absl::MakeSpan(changes_);
    PS_ASSIGN_OR_RETURN(
        PayloadBuffer bytes,
        changed == nullptr
            ? EncodeDenseAs(codes_, values, key)
            : EncodeElements(codes_, *changed, values, /*begin=*/0,
                             static_cast<int64_t>(all.size()), key));
    AddPayload({bytes.span()}, view_.data());
    return DownlinkPayload{std::move(bytes), /*difference=*/true,
                           /*covers_pushes=*/true};
  }

  void Save(StateWriter* writer) const override {
    writer->PutInt(static_cast<int64_t>(num_updates_));
    writer->PutFloats(view_);
  }

  absl::Status Load(StateReader* reader) override {
    PS_ASSIGN_OR_RETURN(const int64_t num_updates, reader->GetInt());
    num_updates_ = static_cast<uint64_t>(num_updates);
    return reader->GetFloats(absl::MakeSpan(view_));
  }

 private:
  PayloadCodes codes_;
  const uint64_t random_key_;
  uint64_t num_updates_ = 0;
  std::vector<float> view_;     // [num_elements]
  std::vector<float> changes_;  // Scratch memory.
};

}  // namespace

std::unique_ptr<Downlink> NewCodedUpdateDownlink(const CompressorConfig& config,
                                                 const SliceOptions& options,
                                                 const PayloadBuffer& weights) {
  return std::make_unique<CodedUpdateDownlink>(config, options, weights);
}

}  // namespace ps
