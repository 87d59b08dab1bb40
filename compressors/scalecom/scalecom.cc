// ScaleCom: in each iteration one worker selects positions by its own residual
// + gradient, and all workers send their values there. So the sum of all pushes
// has no more elements than one push. Chen et al., "ScaleCom: Scalable
// Sparsified Gradient Compression for Communication-Efficient Distributed
// Training", NeurIPS 2020; its low-pass filter is
// compressors/wrappers/partial_feedback.h.
#include "compressors/scalecom/scalecom.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/status_macros.h"
#include "compressors/chunks/chunk_layout.h"
#include "compressors/chunks/largest_of_chunks.h"
#include "compressors/scalecom/tensor_rates.h"
#include "compressors/selectors/exact_top_k.h"
#include "compressors/selectors/sparsifier.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

std::vector<int64_t> PartEndsOf(const CompressorOptions& options) {
  if (options.part_ends.empty()) return {options.dense_size};
  return options.part_ends;
}

class ScaleComSelector final : public Selector {
 public:
  explicit ScaleComSelector(const CompressorOptions& options)
      : exact_(options.config.scalecom().selection() == ScaleComConfig::EXACT),
        shared_(options.shared_positions),
        part_ends_(PartEndsOf(options)),
        rates_(TensorRates(options)),
        kernels_(&options.backend->sparse()),
        chunks_(LayOutChunks(rates_, part_ends_), 1, options.backend),
        top_k_(kernels_) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    if (shared_ == nullptr || !shared_->given) {
      return SelectOwn(input, selected, stats);
    }
    if (absl::c_linear_search(shared_->led, true)) {
      return SelectOwnAndGiven(input, selected, stats);
    }
    return SelectGiven(input, selected, stats);
  }

 private:
  absl::Status SelectOwn(const SelectorInput& input, Selected* selected,
                         CompressionStats* stats) {
    absl::Status status = exact_ ? SelectExactly(input, selected, stats)
                                 : chunks_.SelectOfSum(input, selected, stats);
    stats->target_count = stats->raw_count;
    return status;
  }

  // Forms u. Returns whether it is finite.
  absl::StatusOr<bool> Sum(const SelectorInput& input,
                           CompressionStats* stats) {
    Moments moments;
    PS_RETURN_IF_ERROR(kernels_->AddAndMeasure(input.residual, input.gradient,
                                               input.n, input.u, &moments));
    stats->non_finite = moments.num_non_finite > 0;
    return !stats->non_finite;
  }

  absl::Status SelectGiven(const SelectorInput& input, Selected* selected,
                           CompressionStats* stats) {
    const auto count = static_cast<int64_t>(shared_->indices.size());
    stats->target_count = count;
    if (count == input.n) {
      return SelectEverything(input, kernels_, selected, stats);
    }
    PS_ASSIGN_OR_RETURN(const bool finite, Sum(input, stats));
    if (!finite) return absl::OkStatus();
    stats->raw_count = count;
    selected->elements.indices = shared_->indices;
    return kernels_->Gather(input.u, &selected->elements);
  }

  // Selects its own positions in parts that it leads, and the given ones
  // elsewhere.
  absl::Status SelectOwnAndGiven(const SelectorInput& input, Selected* selected,
                                 CompressionStats* stats) {
    PS_RETURN_IF_ERROR(SelectOwn(input, selected, stats));
    if (stats->non_finite) return absl::OkStatus();
    std::vector<uint32_t> own(selected->all ? input.n : 0);
    absl::c_iota(own, 0);
    if (!selected->all) own.swap(selected->elements.indices);
    std::vector<uint32_t>& indices = selected->elements.indices;
    indices.clear();
    uint32_t begin = 0;
    for (size_t part = 0; part < part_ends_.size(); ++part) {
      const auto end = static_cast<uint32_t>(part_ends_[part]);
      const std::vector<uint32_t>& from =
          shared_->led[part] ? own : shared_->indices;
      indices.insert(indices.end(), absl::c_lower_bound(from, begin),
                     absl::c_lower_bound(from, end));
      begin = end;
    }
    selected->chunks = nullptr;
    selected->all = static_cast<int64_t>(indices.size()) == input.n;
    stats->raw_count = static_cast<int64_t>(indices.size());
    stats->target_count = stats->raw_count;
    return kernels_->Gather(input.u, &selected->elements);
  }

  // Selects the largest elements of each tensor, as many as it has chunks.
  absl::Status SelectExactly(const SelectorInput& input, Selected* selected,
                             CompressionStats* stats) {
    PS_ASSIGN_OR_RETURN(const bool finite, Sum(input, stats));
    if (!finite) return absl::OkStatus();
    std::vector<uint32_t>& indices = selected->elements.indices;
    int64_t begin = 0;
    for (const ChunkRun& tensor : rates_) {
      of_tensor_.clear();
      PS_RETURN_IF_ERROR(top_k_.Select(input.u + begin, tensor.size,
                                       tensor.num_chunks(), &of_tensor_));
      for (const uint32_t index : of_tensor_.indices) {
        indices.push_back(static_cast<uint32_t>(begin + index));
      }
      begin += tensor.size;
    }
    stats->raw_count = static_cast<int64_t>(indices.size());
    selected->all = stats->raw_count == input.n;
    return kernels_->Gather(input.u, &selected->elements);
  }

  const bool exact_;
  const SharedPositions* const shared_;  // Not owned; may be null.
  const std::vector<int64_t> part_ends_;
  const std::vector<ChunkRun> rates_;
  SparseKernels* const kernels_;  // Not owned.
  LargestOfChunks chunks_;
  ExactTopK top_k_;
  Selection of_tensor_;  // Kept for its memory.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewScaleCom(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<ScaleComSelector>(options));
}

namespace {

REGISTER_COMPRESSOR("scalecom",
                    "the same positions of all workers, which one selects",
                    CompressorPlugin(NewScaleCom).SharingPositions());

}  // namespace
}  // namespace ps
