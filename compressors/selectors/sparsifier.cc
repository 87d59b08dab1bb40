#include "compressors/selectors/sparsifier.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/cuda/encoding/device_encoder.h"
#include "compressors/payload/payload.h"

namespace ps {
namespace {

// Elements [begin, end) of the vector.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

// Returns max(1, floor(ratio x n)); n if the ratio is 1; 0 if n is 0.
int64_t TargetCount(double ratio, int64_t n) {
  const int64_t count =
      static_cast<int64_t>(std::floor(ratio * static_cast<double>(n)));
  return std::min(n, std::max<int64_t>(1, count));
}

class Sparsifier final : public Compressor {
 public:
  Sparsifier(const CompressorOptions& options,
             std::unique_ptr<Selector> selector, Tensor scratch)
      : name_(options.config.name()),
        n_(options.dense_size),
        target_count_(TargetCount(options.config.ratio(), n_)),
        random_key_(RandomKey(options.seed,
                              static_cast<uint64_t>(options.worker_rank),
                              static_cast<uint64_t>(options.bucket))),
        backend_(options.backend),
        selector_(std::move(selector)),
        scratch_(std::move(scratch)) {
    codes_.index_code = options.config.index_code();
    codes_.value_code = options.config.value_code();
    codes_.value_config = options.config.values();
    Part part;
    for (const int64_t end : options.part_ends) {
      part.begin = part.end;
      part.end = end;
      parts_.push_back(part);
    }
    if (parts_.empty()) parts_.push_back({0, n_});
    encoder_ = NewDeviceEncoder(codes_, backend_);
  }

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    if (gradient.size() != n_ || residual->size() != n_) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradient of ", gradient.size(), " and residual of ",
                       residual->size(), " elements for a compressor of ", n_));
    }
    EncodedGradient encoded;
    encoded.stats.target_count = target_count_;
    if (n_ == 0) {
      PS_RETURN_IF_ERROR(EncodeNothing(&encoded));
      return encoded;
    }
    SelectorInput input;
    input.residual = residual->data();
    input.gradient = gradient.data();
    input.u = scratch_.data();
    input.n = n_;
    input.target_count = target_count_;
    if (encoder_ != nullptr) {
      input.encode = [this, &encoded](const DeviceSelection& selection) {
        return EncodeOnDevice(selection, &encoded);
      };
    }
    selected_.all = false;
    selected_.on_device.reset();
    selected_.encoded = false;
    selected_.elements.clear();
    selected_.chunks = nullptr;
    PS_RETURN_IF_ERROR(selector_->Select(input, &selected_, &encoded.stats));
    if (!selected_.encoded) encoded.parts.clear();
    if (encoded.stats.non_finite) {
      PS_RETURN_IF_ERROR(EncodeNothing(&encoded));
      return encoded;
    }
    encoded.stats.count = selected_.all ? n_ : selected_.count();
    // The sent values are subtracted from the scratch vector, which becomes the
    // residual.
    if (selected_.all) {
      PS_RETURN_IF_ERROR(EncodeAll(&encoded));
    } else if (selected_.on_device.has_value()) {
      if (!selected_.encoded) {
        PS_RETURN_IF_ERROR(EncodeOnDevice(*selected_.on_device, &encoded));
      }
      // The values now hold the coding errors.
      PS_RETURN_IF_ERROR(
          encoder_->Scatter(*selected_.on_device, scratch_.data()));
    } else {
      PS_RETURN_IF_ERROR(EncodeSelected(&encoded));
    }
    std::swap(scratch_, *residual);
    if (RoundsAtRandom(codes_)) ++num_draws_;
    return encoded;
  }

  std::string SaveState() const override {
    StateWriter writer(name_);
    writer.PutInt(num_draws_);
    selector_->Save(&writer);
    return std::move(writer).Finish();
  }

  absl::Status LoadState(absl::string_view state) override {
    PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(name_, state));
    PS_ASSIGN_OR_RETURN(const int64_t num_draws, reader.GetInt());
    PS_RETURN_IF_ERROR(selector_->Load(&reader));
    num_draws_ = num_draws;
    return absl::OkStatus();
  }

 private:
  absl::Status EncodeNothing(EncodedGradient* encoded) const {
    for (const Part& part : parts_) {
      PS_ASSIGN_OR_RETURN(
          PayloadBuffer payload,
          EncodeElements(codes_, {}, {}, static_cast<uint32_t>(part.begin),
                         part.size()));
      encoded->parts.push_back(std::move(payload));
    }
    return absl::OkStatus();
  }

  absl::Status EncodeOnDevice(const DeviceSelection& selection,
                              EncodedGradient* encoded) {
    PS_ASSIGN_OR_RETURN(encoded->parts,
                        encoder_->EncodeSelected(selection, PayloadParts()));
    return absl::OkStatus();
  }

  absl::Status EncodeSelected(EncodedGradient* encoded) {
    const absl::Span<const uint32_t> indices = selected_.elements.indices;
    const absl::Span<float> values = absl::MakeSpan(selected_.elements.values);
    auto first = indices.begin();
    for (size_t p = 0; p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      absl::Span<const ChunkRun> chunks;
      if (selected_.chunks != nullptr) chunks = (*selected_.chunks)[p];
      // The sum needs 64 bits, since the end of a vector of 2^32 - 1 elements
      // must fit too.
      const auto last = std::lower_bound(
          first, indices.end(), part.end,
          [](uint32_t index, int64_t end) { return index < end; });
      const size_t offset = first - indices.begin();
      const size_t count = last - first;
      PS_ASSIGN_OR_RETURN(
          PayloadBuffer payload,
          EncodeElements(codes_, indices.subspan(offset, count),
                         values.subspan(offset, count),
                         static_cast<uint32_t>(part.begin), part.size(),
                         PayloadKey(part), chunks));
      encoded->parts.push_back(std::move(payload));
      first = last;
    }
    // The values now hold the coding errors.
    return backend_->sparse().Scatter(selected_.elements, scratch_.data());
  }

  absl::Status EncodeAll(EncodedGradient* encoded) {
    if (encoder_ != nullptr) {
      PS_ASSIGN_OR_RETURN(encoded->parts,
                          encoder_->EncodeAll(scratch_.data(), PayloadParts()));
      return absl::OkStatus();
    }
    if (codes_.value_code == "fp32") {
      // Copies straight from the vector into the payload.
      for (const Part& part : parts_) {
        PayloadBuffer payload = AllocateDense(part.size());
        PS_RETURN_IF_ERROR(backend_->CopyToHost(
            scratch_.Slice(part.begin, part.end), DenseValues(&payload)));
        encoded->parts.push_back(std::move(payload));
      }
      return backend_->sparse().Clear(scratch_.data(), n_);
    }
    std::vector<float>& values = selected_.elements.values;
    for (const Part& part : parts_) {
      values.resize(part.size());
      Tensor slice = scratch_.Slice(part.begin, part.end);
      PS_RETURN_IF_ERROR(backend_->CopyToHost(slice, values.data()));
      PS_ASSIGN_OR_RETURN(
          PayloadBuffer payload,
          EncodeDenseAs(codes_, absl::MakeSpan(values), PayloadKey(part)));
      PS_RETURN_IF_ERROR(backend_->CopyFromHost(values.data(), &slice));
      encoded->parts.push_back(std::move(payload));
    }
    return absl::OkStatus();
  }

  // Returns the payload's own key, which is the same in every run.
  uint64_t PayloadKey(const Part& part) const {
    return RandomKey(random_key_, static_cast<uint64_t>(num_draws_),
                     static_cast<uint64_t>(part.begin));
  }

  std::vector<PayloadPart> PayloadParts() const {
    std::vector<PayloadPart> parts;
    for (const Part& part : parts_) {
      parts.push_back({part.begin, part.end, PayloadKey(part)});
    }
    return parts;
  }

  const std::string name_;
  const int64_t n_;
  const int64_t target_count_;
  PayloadCodes codes_;
  std::vector<Part> parts_;
  const uint64_t random_key_;
  // The number of gradients rounded at random so far, on which draws depend.
  int64_t num_draws_ = 0;
  Backend* const backend_;  // Not owned.
  const std::unique_ptr<Selector> selector_;
  std::unique_ptr<DeviceEncoder> encoder_;  // Null if memory is the host's.
  Tensor scratch_;                          // [n], for residual + gradient.
  Selected selected_;                       // Kept for its memory.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewSparsifier(
    const CompressorOptions& options, std::unique_ptr<Selector> selector) {
  PS_ASSIGN_OR_RETURN(Tensor scratch,
                      options.backend->Allocate({options.dense_size}));
  return std::make_unique<Sparsifier>(options, std::move(selector),
                                      std::move(scratch));
}

}  // namespace ps
