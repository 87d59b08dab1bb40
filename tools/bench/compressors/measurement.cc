#include "tools/bench/compressors/measurement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "tools/bench/compressors/compression_check.h"
#include "tools/bench/compressors/delta_mode_cost.h"
#include "tools/bench/compressors/stopwatch.h"

namespace ps {
namespace {

constexpr int64_t kWindowStep = 64 * 1024;
constexpr int64_t kWindows = 32;
// A call on fewer elements is short and needs more rounds.
constexpr int64_t kFullElements = int64_t{1} << 22;
constexpr int64_t kRoundsPerTopK = 3;
constexpr int64_t kSlice = int64_t{1} << 20;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Entropy, in bits, of an event that happens with probability p.
double BinaryEntropy(double p) {
  if (p <= 0 || p >= 1) return 0;
  return -p * std::log2(p) - (1 - p) * std::log1p(-p) / std::log(2.0);
}

// Bits of the payload if its positions were drawn independently, with the
// probability count / n.
double EntropyBits(const CompressorConfig& config, int64_t count, int64_t n,
                   int64_t value_bytes) {
  // Such a code does not separate positions and values.
  if (FindCompressor(config.name()).writes_own_code) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double elements = static_cast<double>(n);
  return elements * BinaryEntropy(static_cast<double>(count) / elements) +
         8 * static_cast<double>(value_bytes);
}

}  // namespace

double CompressorTiming::AchievedRatio(int64_t elements) const {
  return static_cast<double>(sent) /
         (static_cast<double>(rounds) * static_cast<double>(elements));
}

double CompressorTiming::BitsPerSentElement() const {
  return 8 * static_cast<double>(payload_bytes) / static_cast<double>(sent);
}

double CompressorTiming::EntropyBitsPerSentElement() const {
  return entropy_bits / static_cast<double>(sent);
}

// A compressor with its residual.
struct CompressorBench::Subject {
  std::unique_ptr<Compressor> compressor;
  Tensor residual;  // [elements]
  std::vector<int64_t> part_ends;
  bool exact_count = false;
};

absl::StatusOr<std::unique_ptr<CompressorBench>> CompressorBench::Create(
    const CompressorBenchOptions& options, Backend* backend) {
  if (options.elements < 1 || options.rounds < 1 || options.warm_up < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.elements, " elements, ", options.rounds, " rounds and ",
        options.warm_up, " calls before; must be at least 1, 1 and 0"));
  }
  std::vector<float> drawn(options.elements + kWindows * kWindowStep);
  RandomStream random(RandomKey(1));
  for (float& value : drawn) {
    const double magnitude = -std::log(1 - random.Uniform());  // Laplace.
    value = static_cast<float>(random.Next() % 2 == 0 ? magnitude : -magnitude);
  }
  PS_ASSIGN_OR_RETURN(Tensor values,
                      backend->Allocate({static_cast<int64_t>(drawn.size())}));
  PS_RETURN_IF_ERROR(backend->CopyFromHost(drawn.data(), &values));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<CompressionYardstick> yardstick,
                      NewCompressionYardstick(options.elements, backend));
  return std::unique_ptr<CompressorBench>(new CompressorBench(
      options, backend, std::move(yardstick), std::move(values)));
}

Tensor CompressorBench::NextGradient() {
  // 13 and the number of windows are coprime.
  const int64_t begin = 13 * next_window_++ % kWindows * kWindowStep;
  return values_.Slice(begin, begin + options_.elements);
}

absl::Status CompressorBench::Verify(Subject* subject) {
  const Tensor gradient = NextGradient();
  std::vector<float> sum(options_.elements);
  std::vector<float> kept(options_.elements);
  PS_RETURN_IF_ERROR(backend_->CopyToHost(gradient, sum.data()));
  PS_RETURN_IF_ERROR(backend_->CopyToHost(subject->residual, kept.data()));
  for (int64_t i = 0; i < options_.elements; ++i) sum[i] += kept[i];
  PS_ASSIGN_OR_RETURN(
      const EncodedGradient encoded,
      subject->compressor->Compress(gradient, &subject->residual));
  PS_RETURN_IF_ERROR(backend_->CopyToHost(subject->residual, kept.data()));
  CompressionToCheck check;
  check.sum = sum;
  check.residual = kept;
  check.encoded = &encoded;
  check.part_ends = subject->part_ends;
  check.exact_count = subject->exact_count;
  return Annotate(CheckCompression(check), "verification failed");
}

absl::StatusOr<CompressorTiming> CompressorBench::Run(
    const CompressorConfig& config) {
  const int64_t n = options_.elements;
  CompressorOptions options;
  options.config = config;
  options.dense_size = n;
  options.backend = backend_;
  Subject subject;
  // As in training: cluster.max_slice_elements.
  for (int64_t end = kSlice; end < n; end += kSlice) {
    subject.part_ends.push_back(end);
  }
  subject.part_ends.push_back(n);
  options.part_ends = subject.part_ends;
  PS_ASSIGN_OR_RETURN(subject.compressor, NewCompressor(options));
  PS_ASSIGN_OR_RETURN(subject.residual, backend_->Allocate({n}));
  // These two send exactly k by definition.
  subject.exact_count = config.name() == "topk" || config.name() == "randomk";

  for (int64_t i = 0; i < options_.warm_up; ++i) {
    PS_RETURN_IF_ERROR(
        subject.compressor->Compress(NextGradient(), &subject.residual)
            .status());
  }
  PS_RETURN_IF_ERROR(Verify(&subject));

  std::unique_ptr<DeltaModeCost> delta;
  if (!options_.worker_optimizer.empty()) {
    PS_ASSIGN_OR_RETURN(
        delta, DeltaModeCost::Create(options_.worker_optimizer, n, backend_));
  }
  CompressorTiming timing;
  timing.rounds = options_.rounds * std::max<int64_t>(1, kFullElements / n);
  std::vector<double> bound_times, times, topk_times;
  for (int64_t round = 0; round < timing.rounds; ++round) {
    Tensor gradient = NextGradient();
    if (delta != nullptr) {
      PS_RETURN_IF_ERROR(delta->Step(gradient));
      gradient = delta->step();
    }
    PS_ASSIGN_OR_RETURN(const double bound,
                        yardstick_->BoundMilliseconds(gradient));
    bound_times.push_back(bound);
    if (round % kRoundsPerTopK == 0) {
      const int64_t k = std::max<int64_t>(
          1, static_cast<int64_t>(config.ratio() * static_cast<double>(n)));
      PS_ASSIGN_OR_RETURN(
          const double topk,
          yardstick_->TopKMilliseconds(gradient, subject.residual, k));
      topk_times.push_back(topk);
    }
    absl::StatusOr<EncodedGradient> encoded = EncodedGradient();
    absl::Status idle;
    times.push_back(Milliseconds([&] {
      encoded = subject.compressor->Compress(gradient, &subject.residual);
      idle = yardstick_->Await();
    }));
    PS_RETURN_IF_ERROR(idle);
    PS_RETURN_IF_ERROR(encoded.status());
    if (delta != nullptr) {
      Selection answer;
      PS_RETURN_IF_ERROR(DecodeParts(*encoded, subject.part_ends, &answer));
      PS_RETURN_IF_ERROR(delta->Follow(answer, subject.residual));
    }
    int64_t value_bytes = 0;
    int64_t begin = 0;
    for (size_t p = 0; p < subject.part_ends.size(); ++p) {
      PS_ASSIGN_OR_RETURN(const PayloadInfo info,
                          ValidatePayload({encoded->parts[p].span()},
                                          subject.part_ends[p] - begin));
      value_bytes += info.value_bytes;
      timing.payload_bytes +=
          static_cast<int64_t>(encoded->parts[p].size_bytes());
      begin = subject.part_ends[p];
    }
    timing.last = encoded->stats;
    timing.sent += encoded->stats.count;
    timing.entropy_bits +=
        EntropyBits(config, encoded->stats.count, n, value_bytes);
  }
  timing.milliseconds = Median(times);
  timing.bound_milliseconds = Median(bound_times);
  timing.topk_milliseconds = Median(topk_times);
  if (delta != nullptr) {
    timing.step_milliseconds = Median(delta->step_milliseconds());
    timing.follow_milliseconds = Median(delta->follow_milliseconds());
  }
  PS_RETURN_IF_ERROR(Verify(&subject));
  return timing;
}

}  // namespace ps
