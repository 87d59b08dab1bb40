#include "compressors/wrappers/ratio_warmup.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/state_io.h"

namespace ps {
namespace {

constexpr absl::string_view kKind = "ratio_warmup";
constexpr uint64_t kWarmupPurpose = 0x7761726d7570;  // "warmup"

double StageRatio(const CompressorConfig& config, int64_t stage) {
  const WarmupConfig& warmup = config.warmup();
  if (stage >= warmup.stages()) return config.ratio();
  if (warmup.rule() == WarmupConfig::DENSE) return 1;
  const double e = static_cast<double>(stage + 1);
  if (warmup.rule() == WarmupConfig::QUARTER) {
    return std::max(config.ratio(), std::pow(0.25, e));
  }
  return std::pow(config.ratio(), e / (warmup.stages() + 1.0));
}

// Returns the first stage with the ratio of this iteration; at most `stages`.
int64_t StageOf(const CompressorConfig& config, int64_t iteration) {
  const WarmupConfig& warmup = config.warmup();
  int64_t stage = std::min<int64_t>(warmup.stages(),
                                    iteration / warmup.iterations_per_stage());
  while (stage > 0 &&
         StageRatio(config, stage - 1) == StageRatio(config, stage)) {
    --stage;
  }
  return stage;
}

class RatioWarmup final : public Compressor {
 public:
  RatioWarmup(const CompressorOptions& options,
              const CompressorFactory& factory,
              std::unique_ptr<Compressor> first)
      : options_(options), factory_(factory), inner_(std::move(first)) {}

  static absl::StatusOr<std::unique_ptr<Compressor>> NewInner(
      const CompressorOptions& options, const CompressorFactory& factory,
      int64_t stage) {
    CompressorOptions inner = options;
    inner.config.set_ratio(StageRatio(options.config, stage));
    // Each inner compressor counts its iterations from 0.
    inner.seed =
        RandomKey(kWarmupPurpose, options.seed, static_cast<uint64_t>(stage));
    return factory(inner);
  }

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    // A new compressor replaces the old one once it has compressed something.
    std::unique_ptr<Compressor> next;
    const int64_t stage = StageOf(options_.config, iteration_);
    if (stage != stage_) {
      PS_ASSIGN_OR_RETURN(next, NewInner(options_, factory_, stage));
    }
    Compressor& inner = next == nullptr ? *inner_ : *next;
    PS_ASSIGN_OR_RETURN(EncodedGradient encoded,
                        inner.Compress(gradient, residual));
    if (encoded.stats.non_finite) return encoded;
    if (next != nullptr) inner_ = std::move(next);
    // Nothing was sent late, so there is no old momentum to mask.
    encoded.stats.chosen_dense =
        encoded.stats.chosen_dense ||
        (options_.config.warmup().rule() == WarmupConfig::DENSE &&
         stage < options_.config.warmup().stages());
    stage_ = stage;
    ++iteration_;
    return encoded;
  }

  std::string SaveState() const override {
    StateWriter writer(kKind);
    writer.PutInt(iteration_);
    writer.PutBytes(inner_->SaveState());
    return std::move(writer).Finish();
  }

  absl::Status LoadState(absl::string_view state) override {
    PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, state));
    PS_ASSIGN_OR_RETURN(const int64_t iteration, reader.GetInt());
    PS_ASSIGN_OR_RETURN(const absl::string_view inner_state, reader.GetBytes());
    PS_RETURN_IF_ERROR(reader.Finish());
    if (iteration < 0) {
      return absl::DataLossError("compressor state has a negative iteration");
    }
    // The state is that of the compressor that the last iteration used.
    const int64_t stage =
        StageOf(options_.config, std::max<int64_t>(0, iteration - 1));
    PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> inner,
                        NewInner(options_, factory_, stage));
    PS_RETURN_IF_ERROR(inner->LoadState(inner_state));
    inner_ = std::move(inner);
    stage_ = stage;
    iteration_ = iteration;
    return absl::OkStatus();
  }

 private:
  const CompressorOptions options_;
  const CompressorFactory factory_;
  std::unique_ptr<Compressor> inner_;
  int64_t stage_ = 0;      // The stage of inner_.
  int64_t iteration_ = 0;  // The next iteration.
};

}  // namespace

double WarmupRatio(const CompressorConfig& config, int64_t iteration) {
  return StageRatio(config, StageOf(config, iteration));
}

absl::StatusOr<std::unique_ptr<Compressor>> NewRatioWarmup(
    const CompressorOptions& options, const CompressorFactory& factory) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> first,
                      RatioWarmup::NewInner(options, factory, 0));
  return std::make_unique<RatioWarmup>(options, factory, std::move(first));
}

}  // namespace ps
