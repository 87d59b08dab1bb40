// ScaleCom: in each iteration one worker selects positions by its own residual
// + gradient, and all workers send their values there. So the sum of all pushes
// has no more elements than one push. Chen et al., "ScaleCom: Scalable
// Sparsified Gradient Compression for Communication-Efficient Distributed
// Training", NeurIPS 2020; its low-pass filter is
// compressors/wrappers/partial_feedback.h.
#include "compressors/scalecom/scalecom.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "compressors/chunks/chunk_layout.h"
#include "compressors/chunks/largest_of_chunks.h"
#include "compressors/scalecom/tensor_rates.h"
#include "compressors/selectors/exact_top_k.h"
#include "compressors/selectors/sparsifier.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

ChunkLayout LayoutOf(const CompressorOptions& options,
                     const std::vector<ChunkRun>& rates) {
  std::vector<int64_t> part_ends = options.part_ends;
  if (part_ends.empty()) part_ends.push_back(options.dense_size);
  return LayOutChunks(rates, part_ends);
}

class ScaleComSelector final : public Selector {
 public:
  explicit ScaleComSelector(const CompressorOptions& options)
      : exact_(options.config.scalecom().selection() == ScaleComConfig::EXACT),
        shared_(options.shared_positions),
        rates_(TensorRates(options)),
        kernels_(&options.backend->sparse()),
        chunks_(LayoutOf(options, rates_), options.backend),
        top_k_(kernels_) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    if (shared_ != nullptr && shared_->given) {
      return SelectGiven(input, selected, stats);
    }
    absl::Status status = exact_ ? SelectExactly(input, selected, stats)
                                 : chunks_.SelectOfSum(input, selected, stats);
    stats->target_count = stats->raw_count;
    return status;
  }

 private:
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

  // The largest of each tensor, as many as it has chunks.
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
  const std::vector<ChunkRun> rates_;
  SparseKernels* const kernels_;  // Not owned.
  LargestOfChunks chunks_;
  ExactTopK top_k_;
  Selection of_tensor_;  // Kept for its memory.
};

void CheckConfig(const ScaleComConfig& config, const std::string& path,
                 ConfigProblems* problems) {
  if (config.dense_below() >= 0) return;
  problems->Add(path + "dense_below", absl::StrCat(config.dense_below()),
                "must be at least 0");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewScaleCom(
    const CompressorOptions& options) {
  ConfigProblems problems;
  CheckConfig(options.config.scalecom(), "scalecom.", &problems);
  if (!problems.lines().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "; "));
  }
  return NewSparsifier(options, std::make_unique<ScaleComSelector>(options));
}

namespace {

REGISTER_COMPRESSOR("scalecom",
                    "the same positions of all workers, which one selects",
                    CompressorPlugin(NewScaleCom).SharingPositions());

[[maybe_unused]] const bool check_registered =
    RegisterConfigCheck([](const JobConfig& config, ConfigProblems* problems) {
      CheckConfig(config.compressor().scalecom(), "compressor.scalecom.",
                  problems);
    });

}  // namespace
}  // namespace ps
