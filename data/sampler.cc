#include "data/sampler.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "glog/logging.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kSamplerPurpose = 0x73616d706c6572;  // "sampler"

// Returns a shuffle by Fisher and Yates (Durstenfeld, "Algorithm 235", CACM
// 1964): all permutations are equally likely.
std::vector<int64_t> Permutation(int64_t size, uint64_t key) {
  std::vector<int64_t> permutation(size);
  std::iota(permutation.begin(), permutation.end(), 0);
  RandomStream random(key);
  for (int64_t i = size - 1; i > 0; --i) {
    std::swap(permutation[i], permutation[random.Below(i + 1)]);
  }
  return permutation;
}

}  // namespace

absl::StatusOr<Sampler> Sampler::Create(const SamplerOptions& options) {
  if (options.num_examples < 1 || options.batch_size < 1 ||
      options.num_workers < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a sampler needs at least 1 example, 1 worker and a batch of 1; got ",
        options.num_examples, ", ", options.num_workers, " and ",
        options.batch_size));
  }
  // A division is used because the product could overflow.
  if (options.batch_size > options.num_examples / options.num_workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.num_workers, " workers with a batch of ", options.batch_size,
        " need more than the ", options.num_examples,
        " examples that there are; use a smaller training.batch_size"));
  }
  return Sampler(options);
}

int64_t Sampler::iterations_per_epoch() const {
  return options_.num_examples / (options_.batch_size * options_.num_workers);
}

absl::Span<const int64_t> Sampler::Numbers(int64_t iteration, int rank) {
  CHECK_GE(iteration, 0);
  CHECK_GE(rank, 0);
  CHECK_LT(rank, options_.num_workers);
  if (options_.order == ExampleOrder::kSequential) {
    FillSequential(iteration, rank);
    return sequential_;
  }
  const int64_t epoch = iteration / iterations_per_epoch();
  if (epoch != epoch_) {
    permutation_ = Permutation(options_.num_examples,
                               RandomKey(options_.seed, kSamplerPurpose,
                                         static_cast<uint64_t>(epoch)));
    epoch_ = epoch;
  }
  const int64_t global_batch = iteration % iterations_per_epoch();
  return absl::MakeConstSpan(permutation_)
      .subspan(
          (global_batch * options_.num_workers + rank) * options_.batch_size,
          options_.batch_size);
}

void Sampler::FillSequential(int64_t iteration, int rank) {
  // Each stream is as long as an epoch.
  const int64_t length = iterations_per_epoch();
  const int64_t left_over = options_.num_examples -
                            options_.num_workers * options_.batch_size * length;
  const int64_t begin = iteration / length % 2 == 1 ? left_over : 0;
  sequential_.resize(options_.batch_size);
  for (int64_t row = 0; row < options_.batch_size; ++row) {
    sequential_[row] = begin + (rank * options_.batch_size + row) * length +
                       iteration % length;
  }
}

bool Sampler::Continues(int64_t iteration) const {
  return options_.order == ExampleOrder::kSequential &&
         iteration % iterations_per_epoch() != 0;
}

}  // namespace ps
