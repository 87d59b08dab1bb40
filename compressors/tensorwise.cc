#include "compressors/tensorwise.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"

namespace ps {
namespace {

class TensorwiseCompressor final : public Compressor {
 public:
  TensorwiseCompressor(const CompressorOptions& options,
                       std::unique_ptr<TensorCoder> coder, Tensor scratch)
      : name_(options.config.name()),
        n_(options.dense_size),
        part_ends_(options.part_ends),
        tensors_(TensorRanges(options)),
        backend_(options.backend),
        coder_(std::move(coder)),
        scratch_(std::move(scratch)) {
    if (part_ends_.empty()) part_ends_.push_back(n_);
  }

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    if (gradient.size() != n_ || residual->size() != n_) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradient of ", gradient.size(), " and residual of ",
                       residual->size(), " elements for a compressor of ", n_));
    }
    EncodedGradient encoded;
    TensorwiseInput input;
    input.residual = residual;
    input.gradient = &gradient;
    PS_RETURN_IF_ERROR(
        backend_->sparse().AddAndMeasure(residual->data(), gradient.data(), n_,
                                         scratch_.data(), &input.moments));
    if (input.moments.num_non_finite > 0) {
      encoded.stats.non_finite = true;
      PS_RETURN_IF_ERROR(EncodeNothing(&encoded));
      return encoded;
    }
    PS_RETURN_IF_ERROR(coder_->Decide(input, &scratch_, &encoded.stats));
    int64_t begin = 0;
    for (const int64_t end : part_ends_) {
      encoded.parts.push_back(EncodePart(begin, end, &encoded.stats.count));
      begin = end;
    }
    encoded.stats.raw_count = encoded.stats.count;
    encoded.stats.target_count = encoded.stats.count;
    std::swap(scratch_, *residual);
    return encoded;
  }

  std::string SaveState() const override {
    StateWriter writer(name_);
    coder_->Save(&writer);
    return std::move(writer).Finish();
  }

  absl::Status LoadState(absl::string_view state) override {
    PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(name_, state));
    return coder_->Load(&reader);
  }

 private:
  absl::Status EncodeNothing(EncodedGradient* encoded) const {
    int64_t begin = 0;
    for (const int64_t end : part_ends_) {
      PS_ASSIGN_OR_RETURN(
          PayloadBuffer payload,
          EncodeSparse("auto", {}, {}, static_cast<uint32_t>(begin),
                       end - begin));
      encoded->parts.push_back(std::move(payload));
      begin = end;
    }
    return absl::OkStatus();
  }

  // Encodes elements [begin, end) of the vector; adds the number sent to
  // *count.
  PayloadBuffer EncodePart(int64_t begin, int64_t end, int64_t* count) {
    bytes_.clear();
    PayloadInfo info;
    info.index_code = coder_->index_code();
    info.value_code = coder_->value_code();
    info.dense_size = end - begin;
    for (size_t t = 0; t < tensors_.size(); ++t) {
      const TensorRange& tensor = tensors_[t];
      const int64_t from = std::max(begin, tensor.begin);
      const int64_t to = std::min(end, tensor.end);
      if (from >= to) continue;
      info.count +=
          coder_->Append(t, from - tensor.begin, to - tensor.begin, &bytes_);
    }
    info.value_bytes = static_cast<int64_t>(bytes_.size());
    PayloadBuffer payload = AllocatePayload(info);
    if (!bytes_.empty()) {
      std::memcpy(payload.data() + kPayloadHeaderBytes, bytes_.data(),
                  bytes_.size());
    }
    *count += info.count;
    return payload;
  }

  const std::string name_;
  const int64_t n_;
  std::vector<int64_t> part_ends_;
  const std::vector<TensorRange> tensors_;
  Backend* const backend_;  // Not owned.
  const std::unique_ptr<TensorCoder> coder_;
  Tensor scratch_;              // [n], for residual + gradient.
  std::vector<uint8_t> bytes_;  // Kept for its memory.
};

}  // namespace

std::vector<TensorRange> TensorRanges(const CompressorOptions& options) {
  std::vector<TensorRange> ranges;
  const auto add = [&ranges](int64_t begin, int64_t end, const Shape& shape) {
    if (begin < end) ranges.push_back({begin, end, shape});
  };
  if (options.tensors.empty()) add(0, options.dense_size, {});
  for (const TensorSpan& tensor : options.tensors) {
    add(tensor.begin, tensor.begin + NumElements(tensor.shape), tensor.shape);
  }
  return ranges;
}

absl::StatusOr<std::unique_ptr<Compressor>> NewTensorwiseCompressor(
    const CompressorOptions& options, std::unique_ptr<TensorCoder> coder) {
  PS_ASSIGN_OR_RETURN(Tensor scratch,
                      options.backend->Allocate({options.dense_size}));
  return std::make_unique<TensorwiseCompressor>(options, std::move(coder),
                                                std::move(scratch));
}

}  // namespace ps
