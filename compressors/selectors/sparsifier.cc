#include "compressors/selectors/sparsifier.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "compressors/cuda/whole_vectors.h"
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
    selected_.all = false;
    selected_.on_device = nullptr;
    selected_.elements.clear();
    selected_.chunks = nullptr;
    PS_RETURN_IF_ERROR(selector_->Select(input, &selected_, &encoded.stats));
    if (encoded.stats.non_finite) {
      PS_RETURN_IF_ERROR(EncodeNothing(&encoded));
      return encoded;
    }
    encoded.stats.count = selected_.all ? n_ : selected_.count();
    // The sent values are subtracted from the scratch vector, which becomes the
    // residual.
    if (selected_.all) {
      PS_RETURN_IF_ERROR(EncodeAll(&encoded));
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

  absl::Status EncodeSelected(EncodedGradient* encoded) {
    DeviceSelection* const on_device = selected_.on_device;
    absl::Span<const uint32_t> indices = selected_.elements.indices;
    absl::Span<float> values = absl::MakeSpan(selected_.elements.values);
    if (on_device != nullptr) {
      indices = on_device->indices;
      values = on_device->values;
    }
    PS_RETURN_IF_ERROR(ForParts(encoded, [&](size_t p) {
      const Part& part = parts_[p];
      absl::Span<const ChunkRun> chunks;
      if (selected_.chunks != nullptr) chunks = (*selected_.chunks)[p];
      // 64 bits, since the end of a vector of 2^32 - 1 elements must fit too.
      const auto at = [&](int64_t position) {
        return static_cast<size_t>(
            std::lower_bound(
                indices.begin(), indices.end(), position,
                [](uint32_t index, int64_t end) { return index < end; }) -
            indices.begin());
      };
      const size_t first = at(part.begin);
      const size_t count = at(part.end) - first;
      return EncodeElements(codes_, indices.subspan(first, count),
                            values.subspan(first, count),
                            static_cast<uint32_t>(part.begin), part.size(),
                            PayloadKey(part), chunks);
    }));
    // The values now hold the coding errors.
    if (on_device != nullptr) {
      return on_device->Scatter(/*zeros=*/codes_.value_code == "fp32",
                                scratch_.data());
    }
    return backend_->sparse().Scatter(selected_.elements, scratch_.data());
  }

  // Sets encoded->parts to what encode(p) returns for each part, on all threads
  // of the host.
  template <class Encode>
  absl::Status ForParts(EncodedGradient* encoded, const Encode& encode) {
    std::vector<absl::StatusOr<PayloadBuffer>> parts(parts_.size());
    backend_->sparse().host_threads().ParallelFor(
        static_cast<int64_t>(parts_.size()), /*chunk_size=*/1,
        [&](const ChunkRange& part) {
          parts[part.index] = encode(static_cast<size_t>(part.index));
        });
    for (absl::StatusOr<PayloadBuffer>& part : parts) {
      PS_RETURN_IF_ERROR(part.status());
      encoded->parts.push_back(*std::move(part));
    }
    return absl::OkStatus();
  }

  absl::Status EncodeAll(EncodedGradient* encoded) {
    SparseWork* const work = backend_->sparse().device_work();
    if (work != nullptr && whole_ == nullptr) {
      whole_ = NewOnDevice<WholeVectors>(work);
    }
    if (whole_ != nullptr && whole_->Knows(codes_)) {
      std::vector<WholePart> parts;
      for (const Part& part : parts_) {
        parts.push_back({part.end, PayloadKey(part)});
      }
      PS_ASSIGN_OR_RETURN(encoded->parts,
                          whole_->Encode(codes_, parts, scratch_.data()));
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
    // In the vector itself, if it is in the host's memory.
    const bool on_device = work != nullptr;
    std::vector<float>& copy = selected_.elements.values;
    if (on_device) {
      copy.resize(n_);
      PS_RETURN_IF_ERROR(backend_->CopyToHost(scratch_, copy.data()));
    }
    float* const values = on_device ? copy.data() : scratch_.data();
    PS_RETURN_IF_ERROR(ForParts(encoded, [&](size_t p) {
      const Part& part = parts_[p];
      return EncodeDenseAs(
          codes_,
          absl::MakeSpan(values + part.begin, static_cast<size_t>(part.size())),
          PayloadKey(part));
    }));
    if (!on_device) return absl::OkStatus();
    return backend_->CopyFromHost(copy.data(), &scratch_);
  }

  // Returns the payload's own key, which is the same in every run.
  uint64_t PayloadKey(const Part& part) const {
    return RandomKey(random_key_, static_cast<uint64_t>(num_draws_),
                     static_cast<uint64_t>(part.begin));
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
  std::unique_ptr<WholeVectors> whole_;  // Created on first use.
  Tensor scratch_;                       // [n], for residual + gradient.
  Selected selected_;                    // Kept for its memory.
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
