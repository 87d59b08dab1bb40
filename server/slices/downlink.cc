#include "server/slices/downlink.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "glog/logging.h"
#include "server/slices/downlink_choice.h"
#include "server/slices/lossy_downlink.h"

namespace ps {
namespace {

// Sends all weights in a value code.
class WeightsDownlink : public Downlink {
 public:
  explicit WeightsDownlink(const std::string& value_code) {
    codes_.value_code = value_code;
  }

  PayloadBuffer All(const PayloadBuffer& weights) const override {
    if (exact()) return weights;
    const absl::Span<const float> values = DenseValues(weights);
    std::vector<float> copy(values.begin(), values.end());
    absl::StatusOr<PayloadBuffer> coded =
        EncodeDenseAs(codes_, absl::MakeSpan(copy));
    CHECK(coded.ok()) << coded.status();  // The config check knows the code.
    return *std::move(coded);
  }

  absl::StatusOr<DownlinkPayload> Changes(const PayloadBuffer& weights,
                                          const ChangedElements*) override {
    // The 16-bit codes have no infinity here and would hide one.
    if (!exact()) PS_RETURN_IF_ERROR(CheckFiniteWeights(DenseValues(weights)));
    return DownlinkPayload{All(weights), /*difference=*/false,
                           /*covers_pushes=*/true};
  }

 protected:
  const PayloadCodes& codes() const { return codes_; }

 private:
  bool exact() const { return codes_.value_code == "fp32"; }

  PayloadCodes codes_;
};

// Sends the new values of the changed elements, or all values if they take no
// more bytes.
class UpdateDownlink final : public WeightsDownlink {
 public:
  using WeightsDownlink::WeightsDownlink;

  absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& weights, const ChangedElements* changed) override {
    if (changed == nullptr) return WeightsDownlink::Changes(weights, changed);
    const size_t size = DenseValues(weights).size();
    PS_RETURN_IF_ERROR(CheckFiniteWeights(changed->values));
    PS_ASSIGN_OR_RETURN(
        PayloadBuffer bytes,
        EncodeElements(codes(), changed->indices, changed->values,
                       /*begin=*/0, static_cast<int64_t>(size)));
    if (2 * changed->indices.size() >= size) {
      PayloadBuffer everything = All(weights);
      if (everything.size_bytes() <= bytes.size_bytes()) {
        bytes = std::move(everything);
      }
    }
    return DownlinkPayload{std::move(bytes), /*difference=*/false,
                           /*covers_pushes=*/true};
  }
};

}  // namespace

absl::Status CheckFiniteWeights(absl::Span<const float> values) {
  bool finite = true;
  for (const float x : values) {
    finite &= std::fabs(x) <= std::numeric_limits<float>::max();
  }
  if (finite) return absl::OkStatus();
  return absl::DataLossError(
      "the weights are not finite: training has diverged; lower the learning "
      "rate");
}

absl::StatusOr<std::unique_ptr<Downlink>> NewDownlink(
    const SliceOptions& options, const PayloadBuffer& weights) {
  if (options.rule == UpdateRule::kMean) {
    return std::make_unique<WeightsDownlink>("fp32");
  }
  const DownlinkConfig config = ChosenDownlink(*options.config);
  switch (config.mode()) {
    case DownlinkConfig::WEIGHTS:
      return std::make_unique<WeightsDownlink>(config.value_code());
    case DownlinkConfig::UPDATE:
    case DownlinkConfig::MEAN:
      if (!SendsDifferences(config)) {
        return std::make_unique<UpdateDownlink>(config.value_code());
      }
      [[fallthrough]];
    case DownlinkConfig::COMPRESSED:
      return NewLossyDownlink(config, options, weights);
    case DownlinkConfig::AUTO:
      break;
  }
  return absl::InternalError("a downlink of unknown mode");
}

}  // namespace ps
