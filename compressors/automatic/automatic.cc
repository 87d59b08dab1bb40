#include "compressors/automatic/automatic.h"

#include <string>
#include <utility>

#include "common/status_macros.h"
#include "compressors/automatic/options_check.h"
#include "compressors/new_compressor.h"
#include "compressors/state_io.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr absl::string_view kKind = "auto";

// Both compressors work on the caller's residual, so each obeys the invariant
// of compressors (compressor.h) whichever ran before; bf16's rounding error
// stays in the residual too. The state is that of both. The caller measures and
// makes the choice.
class Automatic final : public Compressor {
 public:
  Automatic(int bucket, const std::vector<bool>* compressed,
            std::unique_ptr<Compressor> dense,
            std::unique_ptr<Compressor> sparse)
      : bucket_(bucket),
        compressed_(compressed),
        dense_(std::move(dense)),
        sparse_(std::move(sparse)) {}

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    const bool compressed = compressed_ == nullptr || (*compressed_)[bucket_];
    PS_ASSIGN_OR_RETURN(
        EncodedGradient encoded,
        (compressed ? *sparse_ : *dense_).Compress(gradient, residual));
    encoded.stats.chosen_dense = !compressed;
    return encoded;
  }

  std::string SaveState() const override {
    StateWriter writer(kKind);
    writer.PutBytes(dense_->SaveState());
    writer.PutBytes(sparse_->SaveState());
    return std::move(writer).Finish();
  }

  absl::Status LoadState(absl::string_view state) override {
    PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, state));
    PS_ASSIGN_OR_RETURN(const absl::string_view dense, reader.GetBytes());
    PS_ASSIGN_OR_RETURN(const absl::string_view sparse, reader.GetBytes());
    PS_RETURN_IF_ERROR(reader.Finish());
    // Since bf16 rounds to the nearest, the state of `dense_` is always the
    // same. Loading it first only checks it, so nothing has changed if the
    // other state is refused.
    PS_RETURN_IF_ERROR(dense_->LoadState(dense));
    return sparse_->LoadState(sparse);
  }

 private:
  const int bucket_;
  const std::vector<bool>* const compressed_;  // Not owned; may be null.
  const std::unique_ptr<Compressor> dense_;
  const std::unique_ptr<Compressor> sparse_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewInner(
    const CompressorOptions& options, const std::string& name,
    const std::string& value_code) {
  CompressorOptions inner = options;
  inner.config.set_name(name);
  inner.config.set_value_code(value_code);
  PS_ASSIGN_OR_RETURN(const CompressorPlugin plugin,
                      CompressorRegistry().Find(name));
  return plugin.factory(inner);
}

absl::StatusOr<std::unique_ptr<Compressor>> NewAutomatic(
    const CompressorOptions& options, const std::vector<bool>* compressed) {
  ConfigProblems problems;
  CheckAutoOptions(options.config, "", &problems);
  PS_RETURN_IF_ERROR(problems.ToStatus());
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> dense,
                      NewInner(options, "none", "bf16"));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> sparse,
                      NewInner(options, options.config.auto_().compressor(),
                               options.config.value_code()));
  return std::make_unique<Automatic>(options.bucket, compressed,
                                     std::move(dense), std::move(sparse));
}

absl::StatusOr<std::unique_ptr<Compressor>> NewWithoutChoice(
    const CompressorOptions& options) {
  return NewAutomatic(options, /*compressed=*/nullptr);
}

REGISTER_COMPRESSOR(
    "auto", "everything or a selection, whichever takes less time, as measured",
    CompressorPlugin(NewWithoutChoice).ChoosingByTime());

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewAutomaticCompressor(
    const CompressorOptions& options, const std::vector<bool>* compressed) {
  CHECK(options.bucket >= 0 &&
        options.bucket < static_cast<int>(compressed->size()));
  return NewCompressor(options, [compressed](const CompressorOptions& inner) {
    return NewAutomatic(inner, compressed);
  });
}

}  // namespace ps
