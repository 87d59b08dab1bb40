#include "compressors/selectors/exact_top_k.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "common/status_macros.h"

namespace ps {
namespace {

// A sample of about this many elements places the threshold within a few
// percent of k.
constexpr int64_t kSampleSize = int64_t{1} << 20;
// Below this many of the k in the sample, a guess is too rough to be of use.
constexpr int64_t kMinSampledCount = 64;

constexpr int kBinBits = 12;
static_assert(1 << kBinBits == MagnitudeBins::kNumBins, "");

// Returns the largest threshold that elements with these bits exceed.
float JustBelow(uint32_t bits) {
  if (bits == 0) return -1;
  return MagnitudeFromBits(bits - 1);
}

// The bin that holds the k-th largest element, if there are that many.
struct Rank {
  int bin = 0;
  int64_t above = 0;  // Elements in higher bins.
  bool found = false;
};

Rank FindRank(const std::vector<int64_t>& counts, int num_bins, int64_t k) {
  Rank rank;
  for (rank.bin = num_bins - 1; rank.bin >= 0; --rank.bin) {
    if (rank.above + counts[rank.bin] >= k) {
      rank.found = true;
      return rank;
    }
    rank.above += counts[rank.bin];
  }
  return rank;
}

uint32_t LowestBits(const MagnitudeBins& bins, int bin) {
  return bins.low + (static_cast<uint32_t>(bin) << bins.shift);
}

// The next vector's guess, relative to this one's threshold. Lowering the
// threshold by a few percent keeps twice as many elements in the tail of a
// Laplace distribution at ratio 0.001.
constexpr float kGuessMargin = 0.9f;

// Returns the number of elements beyond which a list does not pay.
int64_t ListLimit(int64_t k) { return 4 * k + (int64_t{1} << 16); }

// Finds from a sample a threshold that probably slightly more than k elements
// exceed. It is negative if the vector is too short or the sample too flat.
absl::Status GuessThreshold(SparseKernels* kernels, const float* u, int64_t n,
                            int64_t k, float* threshold) {
  *threshold = -1;
  MagnitudeBins bins;
  bins.stride = n / kSampleSize;
  if (bins.stride < 2 || k / bins.stride < kMinSampledCount) {
    return absl::OkStatus();
  }
  std::vector<int64_t> counts;
  PS_RETURN_IF_ERROR(kernels->CountMagnitudes(u, n, bins, &counts));
  // Adds four standard deviations of the count.
  const double sampled = static_cast<double>(k) / bins.stride;
  const int64_t wanted =
      static_cast<int64_t>(std::ceil(sampled + 4 * std::sqrt(sampled)));
  const Rank rank = FindRank(counts, MagnitudeBins::kNumBins, wanted);
  if (!rank.found ||
      (rank.above + counts[rank.bin]) * bins.stride > ListLimit(k)) {
    return absl::OkStatus();
  }
  *threshold = JustBelow(LowestBits(bins, rank.bin));
  return absl::OkStatus();
}

// Merges two lists that have no index in common.
void Merge(const Selection& more, Selection* selection) {
  Selection merged;
  merged.indices.reserve(selection->size() + more.size());
  merged.values.reserve(selection->size() + more.size());
  int64_t i = 0;
  int64_t j = 0;
  while (i < selection->size() || j < more.size()) {
    const bool first =
        j == more.size() ||
        (i < selection->size() && selection->indices[i] < more.indices[j]);
    const Selection& from = first ? *selection : more;
    int64_t& position = first ? i : j;
    merged.indices.push_back(from.indices[position]);
    merged.values.push_back(from.values[position]);
    ++position;
  }
  *selection = std::move(merged);
}

}  // namespace

ExactTopK::ExactTopK(SparseKernels* kernels)
    : kernels_(kernels), sieve_(kernels->NewSieve()) {}

absl::Status ExactTopK::RunOnDevice(const DeviceTopKRequest& request) {
  return SearchOnDevice(request, kernels_->device_work(), &device_,
                        &on_device_);
}

void ExactTopK::TakeFromDevice(Selected* selected, double* threshold) {
  selected->on_device = on_device_.selection;
  *threshold = on_device_.threshold;
}

absl::Status ExactTopK::SelectOfSum(const SelectorInput& input,
                                    Selected* selected,
                                    CompressionStats* stats) {
  const int64_t n = input.n;
  const int64_t k = input.target_count;
  const bool on_device = kernels_->device_work() != nullptr && k < n;
  Moments moments;
  if (on_device) {
    DeviceTopKRequest request;
    request.sum = {input.residual, input.gradient, input.u, n};
    request.k = k;
    request.keep_above = guess_;
    PS_RETURN_IF_ERROR(RunOnDevice(request));
    moments = on_device_.moments;
  } else {
    SieveGuess guess;
    guess.keep_above = guess_;
    guess.sums = SieveGuess::Sums::kNone;
    PS_RETURN_IF_ERROR(sieve_->ResetToSum(input.residual, input.gradient, n,
                                          guess, input.u, &moments));
  }
  stats->non_finite = moments.num_non_finite > 0;
  if (stats->non_finite) return absl::OkStatus();
  stats->raw_count = k;
  if (k == n) {
    selected->all = true;
    return absl::OkStatus();
  }
  if (on_device) {
    TakeFromDevice(selected, &stats->threshold);
  } else {
    bool found = false;
    if (std::isfinite(guess_)) {
      // If the vector is unlike the one before it, almost everything may exceed
      // the guess.
      int64_t above = 0;
      PS_RETURN_IF_ERROR(sieve_->CountAbove(guess_, guess_, &above));
      if (above <= ListLimit(k)) {
        PS_RETURN_IF_ERROR(
            SelectByGuess(guess_, k, &selected->elements, &found));
      }
    }
    if (!found) {
      PS_RETURN_IF_ERROR(Search(input.u, n, k, &selected->elements));
    }
    stats->threshold = SmallestMagnitude(selected->elements);
  }
  GuessFrom(stats->threshold);
  return absl::OkStatus();
}

void ExactTopK::GuessFrom(double smallest) {
  // A guess of 0 would not exclude any non-zero.
  guess_ = smallest > 0 ? kGuessMargin * static_cast<float>(smallest)
                        : std::numeric_limits<float>::infinity();
}

absl::Status ExactTopK::Search(const float* u, int64_t n, int64_t k,
                               Selection* selection) {
  float guess = -1;
  PS_RETURN_IF_ERROR(GuessThreshold(kernels_, u, n, k, &guess));
  if (guess >= 0) {
    bool found = false;
    PS_RETURN_IF_ERROR(SelectByGuess(guess, k, selection, &found));
    if (found) return absl::OkStatus();
  }
  return SelectByBins(u, n, k, selection);
}

absl::Status ExactTopK::Select(const float* u, int64_t n, int64_t k,
                               Selection* selection) {
  selection->clear();
  if (k <= 0) return absl::OkStatus();
  sieve_->Reset(u, n);
  return Search(u, n, k, selection);
}

absl::Status ExactTopK::Select(const float* u, int64_t n, int64_t k,
                               Selected* selected, double* threshold) {
  selected->on_device = nullptr;
  if (k > 0 && kernels_->device_work() != nullptr) {
    DeviceTopKRequest request;
    // Run forms no sum here, so it only reads u.
    request.sum.u = const_cast<float*>(u);
    request.sum.n = n;
    request.k = k;
    PS_RETURN_IF_ERROR(RunOnDevice(request));
    TakeFromDevice(selected, threshold);
    return absl::OkStatus();
  }
  PS_RETURN_IF_ERROR(Select(u, n, k, &selected->elements));
  *threshold = SmallestMagnitude(selected->elements);
  return absl::OkStatus();
}

absl::Status ExactTopK::Trim(const float* u, int64_t n, int64_t k,
                             Selected* selected, double* threshold) {
  if (selected->count() <= k) return absl::OkStatus();
  if (selected->on_device != nullptr) {
    // No other elements are larger, whatever the threshold was.
    return Select(u, n, k, selected, threshold);
  }
  TrimToTopK(k, &selected->elements);
  *threshold = SmallestMagnitude(selected->elements);
  return absl::OkStatus();
}

absl::Status ExactTopK::SelectByGuess(float threshold, int64_t k,
                                      Selection* selection, bool* found) {
  PS_RETURN_IF_ERROR(sieve_->SelectAbove(threshold, selection));
  *found = selection->size() >= k;
  if (*found) TrimToTopK(k, selection);
  return absl::OkStatus();
}

absl::Status ExactTopK::SelectByBins(const float* u, int64_t n, int64_t k,
                                     Selection* selection) {
  // Finds the bits of the k-th largest, 12 at a time from the top: a histogram
  // shows which bin it lies in, and the next histogram divides that bin.
  MagnitudeBins bins;
  // The bins that the previous bin spans.
  int num_bins = MagnitudeBins::kNumBins;
  int64_t wanted = k;  // Rank among the elements of the bins.
  for (;;) {
    std::vector<int64_t> counts;
    PS_RETURN_IF_ERROR(kernels_->CountMagnitudes(u, n, bins, &counts));
    const Rank rank = FindRank(counts, num_bins, wanted);
    const uint32_t lowest = LowestBits(bins, rank.bin);
    const int64_t listed = k - wanted + rank.above + counts[rank.bin];
    if (listed <= ListLimit(k)) {
      PS_RETURN_IF_ERROR(sieve_->SelectAbove(JustBelow(lowest), selection));
      TrimToTopK(k, selection);
      return absl::OkStatus();
    }
    wanted -= rank.above;
    if (bins.shift == 0) {
      // There are a great many equal magnitudes, of which `wanted` are needed.
      const float magnitude = MagnitudeFromBits(lowest);
      Selection equal;
      PS_RETURN_IF_ERROR(sieve_->SelectAbove(magnitude, selection));
      PS_RETURN_IF_ERROR(
          kernels_->SelectEqual(u, n, magnitude, wanted, &equal));
      Merge(equal, selection);
      return absl::OkStatus();
    }
    const int width = bins.shift;
    bins.low = lowest;
    bins.shift = std::max(0, width - kBinBits);
    num_bins = 1 << (width - bins.shift);
  }
}

void TrimToTopK(int64_t k, Selection* selection) {
  if (selection->size() <= k) return;
  std::vector<uint32_t> magnitudes(selection->size());
  std::transform(selection->values.begin(), selection->values.end(),
                 magnitudes.begin(), MagnitudeBits);
  std::nth_element(magnitudes.begin(), magnitudes.begin() + (k - 1),
                   magnitudes.end(), std::greater<uint32_t>());
  const uint32_t last = magnitudes[k - 1];
  // Of those as large as the last one, the first ones in the vector.
  int64_t equal = std::count(magnitudes.begin(), magnitudes.begin() + k, last);
  int64_t kept = 0;
  for (int64_t i = 0; i < selection->size(); ++i) {
    const uint32_t bits = MagnitudeBits(selection->values[i]);
    // This has no branch that is hard to predict.
    selection->indices[kept] = selection->indices[i];
    selection->values[kept] = selection->values[i];
    kept += bits > last || (bits == last && equal-- > 0) ? 1 : 0;
  }
  selection->indices.resize(kept);
  selection->values.resize(kept);
}

int64_t DeviceSelectionCapacity(int64_t n, int64_t k) {
  return std::min(n, ListLimit(k));
}

float SmallestMagnitude(const Selection& selection) {
  if (selection.values.empty()) return 0;
  float smallest = std::fabs(selection.values[0]);
  for (const float value : selection.values) {
    smallest = std::min(smallest, std::fabs(value));
  }
  return smallest;
}

}  // namespace ps
