// LGC, learned gradient compression, with parameter servers: positions are
// selected as in ScaleCom; once the servers have trained an autoencoder on the
// values there, the leader sends a code of its values, and all workers send
// their few largest ones. Abrahamyan, Chen, Bekoulis, Deligiannis, "Learned
// Gradient Compression for Distributed Deep Learning", IEEE TNNLS 33(12), 2022.
//
// All workers clear their residuals at the positions that are sent, although a
// decoded value differs from what was there: feeding the difference back
// diverges, because the autoencoder is no contraction.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/lgc/autoencoder.h"
#include "compressors/lgc/config_check.h"
#include "compressors/lgc/message.h"
#include "compressors/lgc/slice_coder.h"
#include "compressors/lgc/values.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "compressors/scalecom/scalecom.h"
#include "compressors/scalecom/tensor_rates.h"
#include "compressors/state_io.h"

namespace ps {
namespace {

constexpr char kKind[] = "lgc";

class Lgc final : public Compressor {
 public:
  Lgc(const CompressorOptions& options, std::unique_ptr<Compressor> selecting)
      : config_(options.config.lgc()),
        num_workers_(options.num_workers),
        shared_(options.shared_positions),
        selecting_(std::move(selecting)) {
    for (const TensorSpan& tensor : options.tensors) {
      if (tensor.last || IsSentWhole(tensor, options.config.scalecom())) {
        continue;
      }
      tensors_.push_back(
          {tensor.begin, tensor.begin + NumElements(tensor.shape)});
    }
    if (options.tensors.empty()) tensors_.push_back({0, options.dense_size});
    part_ends_ = options.part_ends;
    if (part_ends_.empty()) part_ends_.push_back(options.dense_size);
    parts_.resize(part_ends_.size());
    for (size_t p = 0; p < parts_.size(); ++p) {
      const int64_t size = part_ends_[p] - (p == 0 ? 0 : part_ends_[p - 1]);
      parts_[p].most_coded = MostCodedValues(options.config, size);
    }
  }

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    PS_ASSIGN_OR_RETURN(EncodedGradient encoded,
                        selecting_->Compress(gradient, residual));
    if (shared_ == nullptr) return encoded;
    const bool follows = shared_->given;
    if (follows && shared_->remarks.size() != parts_.size()) {
      return absl::InternalError("positions without remarks for each part");
    }
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (follows) {
        PS_RETURN_IF_ERROR(TakePlan(shared_->remarks[p].server, &parts_[p]));
      }
      if (encoded.stats.non_finite) continue;
      PayloadBuffer* const payload = &encoded.parts[p];
      PS_RETURN_IF_ERROR(follows ? Follow(shared_->remarks[p].leader, payload)
                                 : Lead(p, payload));
    }
    return encoded;
  }

  std::string SaveState() const override {
    StateWriter writer(kKind);
    writer.PutBytes(selecting_->SaveState());
    writer.PutInt(num_workers_);
    for (const Part& part : parts_) {
      writer.PutInt(part.sends_code);
      writer.PutInt(part.version);
      writer.PutBytes(FloatBytes(part.encoder));
    }
    return std::move(writer).Finish();
  }

  absl::Status LoadState(absl::string_view state) override {
    PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, state));
    PS_ASSIGN_OR_RETURN(const absl::string_view selecting, reader.GetBytes());
    PS_ASSIGN_OR_RETURN(const int64_t num_workers, reader.GetInt());
    std::vector<Part> parts = parts_;
    for (Part& part : parts) {
      PS_ASSIGN_OR_RETURN(part.sends_code, reader.GetInt());
      PS_ASSIGN_OR_RETURN(const int64_t version, reader.GetInt());
      part.version = static_cast<uint32_t>(version);
      PS_ASSIGN_OR_RETURN(const absl::string_view encoder, reader.GetBytes());
      part.encoder = FloatsOf(encoder);
      if (!part.encoder.empty() &&
          part.encoder.size() != static_cast<size_t>(NumEncoderParameters())) {
        return absl::DataLossError(
            absl::StrCat("an encoder of ", part.encoder.size(), " parameters"));
      }
      // After a change of workers, the servers start with plain values.
      if (num_workers != num_workers_) part.sends_code = false;
    }
    PS_RETURN_IF_ERROR(reader.Finish());
    PS_RETURN_IF_ERROR(selecting_->LoadState(selecting));
    parts_ = std::move(parts);
    return absl::OkStatus();
  }

 private:
  struct Stretch {
    int64_t begin = 0;
    int64_t end = 0;
  };
  struct Part {
    int64_t most_coded = 0;
    // The following members come from the server.
    // Whether to send a code if this worker leads next.
    bool sends_code = false;
    uint32_t version = 0;        // The version of the encoder.
    std::vector<float> encoder;  // Empty if there is none.
  };

  static absl::Status TakePlan(const std::string& bytes, Part* part) {
    PS_ASSIGN_OR_RETURN(LgcPlan plan, ReadLgcPlan(bytes));
    if (!plan.encoder.empty()) {
      part->encoder = FloatsOf(plan.encoder);
      part->version = plan.version;
    }
    part->sends_code = plan.sends_code && !part->encoder.empty() &&
                       part->version == plan.version;
    return absl::OkStatus();
  }

  // Returns the elements of part p's payload that belong to each coded tensor.
  std::vector<ValueRange> RangesOf(size_t p,
                                   const std::vector<uint32_t>& indices) const {
    const int64_t part_begin = p == 0 ? 0 : part_ends_[p - 1];
    const auto element = [&indices, part_begin](int64_t position) {
      return static_cast<uint32_t>(
          std::lower_bound(
              indices.begin(), indices.end(), position - part_begin,
              [](uint32_t index, int64_t bound) { return index < bound; }) -
          indices.begin());
    };
    std::vector<ValueRange> ranges;
    for (const Stretch& tensor : tensors_) {
      const ValueRange range = {element(tensor.begin), element(tensor.end)};
      if (range.begin < range.end) ranges.push_back(range);
    }
    return ranges;
  }

  absl::Status Lead(size_t p, PayloadBuffer* payload) {
    Part& part = parts_[p];
    const bool sends_code = std::exchange(part.sends_code, false);
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload({payload->span()}, &indices, &values);
    LgcRemark remark;
    if (!IsDense(*payload)) remark.ranges = RangesOf(p, indices);
    const int64_t num_coded = NumValues(remark.ranges);
    if (num_coded < config_.min_values() || num_coded > part.most_coded) {
      return absl::OkStatus();
    }
    if (config_.order() == LgcConfig::SIGN) {
      remark.signs = Signs(remark.ranges, values);
    }
    const std::vector<uint32_t> order = OrderOf(remark.ranges, remark.signs);
    remark.scale = Rms(Ordered(order, values, 1));
    remark.version = part.version;
    remark.coded = sends_code && remark.scale > 0 && remark.scale <= kMaxScale;
    LgcValues sent;
    if (remark.coded) {
      const std::vector<float> x = Ordered(order, values, remark.scale);
      sent = ValuesToSend(order, values, x);
      sent.code = Encode<float>(part.encoder.data(), x);
      for (float& number : sent.code) number = Bounded(number);
    } else {
      sent.plain = std::move(values);
    }
    *payload = EncodeCoded(*payload, Write(remark),
                           Write(sent, remark.coded ? num_coded : 0));
    return absl::OkStatus();
  }

  absl::Status Follow(const std::string& of_leader, PayloadBuffer* payload) {
    if (of_leader.empty()) return absl::OkStatus();
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload({payload->span()}, &indices, &values);
    PS_ASSIGN_OR_RETURN(
        const LgcRemark remark,
        ReadLgcRemark(of_leader, static_cast<int64_t>(values.size())));
    if (!remark.coded) return absl::OkStatus();
    const std::vector<uint32_t> order = OrderOf(remark.ranges, remark.signs);
    const std::vector<float> x = Ordered(order, values, remark.scale);
    *payload = EncodeCoded(*payload, "",
                           Write(ValuesToSend(order, values, x),
                                 static_cast<int64_t>(order.size())));
    return absl::OkStatus();
  }

  static bool IsDense(const PayloadBuffer& payload) {
    return payload.data()[1] == static_cast<uint8_t>(IndexCode::kDense);
  }

  static float Bounded(float x) {
    return std::max(-kMaxCoded, std::min(kMaxCoded, x));
  }

  // Returns the values that are not in `order`, and the innovation.
  LgcValues ValuesToSend(const std::vector<uint32_t>& order,
                         const std::vector<float>& values,
                         const std::vector<float>& x) const {
    LgcValues sent;
    std::vector<bool> in_order(values.size(), false);
    for (const uint32_t element : order) in_order[element] = true;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!in_order[i]) sent.plain.push_back(values[i]);
    }
    sent.places = LargestPlaces(x, config_.innovation());
    for (const uint32_t place : sent.places) {
      sent.innovation.push_back(Bounded(x[place]));
    }
    return sent;
  }

  const LgcConfig config_;
  const int64_t num_workers_;
  const SharedPositions* const shared_;  // Not owned; may be null.
  const std::unique_ptr<Compressor> selecting_;
  // The tensors that go through the autoencoder.
  std::vector<Stretch> tensors_;
  std::vector<int64_t> part_ends_;
  std::vector<Part> parts_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewLgc(
    const CompressorOptions& options) {
  PS_RETURN_IF_ERROR(
      CheckLgcConfig(options.config, options.shared_positions != nullptr));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> selecting,
                      NewScaleCom(options));
  return std::make_unique<Lgc>(options, std::move(selecting));
}

REGISTER_COMPRESSOR("lgc",
                    "the same positions of all workers, and a learned code of "
                    "the values there",
                    CompressorPlugin(NewLgc).SharingPositions().WithSliceCoder(
                        NewLgcSliceCoder, LgcSliceCoderBytes));

}  // namespace
}  // namespace ps
