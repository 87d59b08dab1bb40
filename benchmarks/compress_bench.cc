// Time to compress one long gradient on one core, with error feedback, against
// the memory traffic that no threshold compressor can avoid.
//
// The bound is one pass residual += gradient and one pass over |x|, both timed
// here, in turns with the compressor, so that a busy machine slows all alike.
// The yardstick is the same residual pass and std::nth_element. Every
// compressor is verified by plain loops before it is timed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "benchmarks/memory_passes.h"
#include "common/flags.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload.h"
#include "tensor/backend.h"

namespace ps {
namespace {

struct Options {
  int64_t elements = 66034000;  // The LSTM of SIDCo's language model.
  double ratio = 0.001;
  int64_t rounds = 15;
  bool json = false;
};

// Iterations before timing: the adaptive number of stages settles, and the
// residual fills.
constexpr int kWarmUp = 40;
constexpr int kYardstickRounds = 3;
// Gradients are windows of one long vector: fresh numbers at no cost.
constexpr int64_t kWindowStep = 64 * 1024;
constexpr int64_t kWindows = 32;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Milliseconds(const std::function<void()>& work) {
  const absl::Time start = absl::Now();
  work();
  return absl::ToDoubleMilliseconds(absl::Now() - start);
}

class GradientSource {
 public:
  static absl::StatusOr<GradientSource> Create(Backend* backend, int64_t n) {
    GradientSource source;
    source.n_ = n;
    PS_ASSIGN_OR_RETURN(source.values_,
                        backend->Allocate({n + kWindows * kWindowStep}));
    RandomStream random(RandomKey(1));
    float* const values = source.values_.data();
    for (int64_t i = 0; i < source.values_.size(); ++i) {
      const double magnitude = -std::log(1 - random.Uniform());  // Laplace.
      values[i] =
          static_cast<float>(random.Next() % 2 == 0 ? magnitude : -magnitude);
    }
    return source;
  }

  Tensor Next() {
    // 13 has no factor in common with the number of windows.
    const int64_t begin = 13 * iteration_++ % kWindows * kWindowStep;
    return values_.Slice(begin, begin + n_);
  }

 private:
  int64_t n_ = 0;
  int64_t iteration_ = 0;
  Tensor values_;
};

struct Row {
  std::string name;
  double milliseconds = 0;
  double bytes_per_element = 0;  // That must be moved.
  std::string remark;
};

class Bench {
 public:
  static absl::StatusOr<std::unique_ptr<Bench>> Create(const Options& options) {
    PS_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                        NewCpuBackend(CpuBackendOptions()));
    PS_ASSIGN_OR_RETURN(
        GradientSource gradients,
        GradientSource::Create(backend.get(), options.elements));
    PS_ASSIGN_OR_RETURN(Tensor plain, backend->Allocate({options.elements}));
    return std::unique_ptr<Bench>(new Bench(
        options, std::move(backend), std::move(gradients), std::move(plain)));
  }

  // Verifies and times the compressor, and the bound in turns with it.
  absl::Status Run(const std::string& name) {
    CompressorOptions options;
    options.config.set_name(name);
    options.config.set_ratio(options_.ratio);
    options.dense_size = options_.elements;
    options.backend = backend_.get();
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<Compressor> compressor,
                        NewCompressor(options));
    PS_ASSIGN_OR_RETURN(Tensor residual,
                        backend_->Allocate({options_.elements}));
    for (int i = 0; i < kWarmUp; ++i) {
      PS_RETURN_IF_ERROR(
          compressor->Compress(gradients_.Next(), &residual).status());
    }
    PS_RETURN_IF_ERROR(Annotate(Verify(compressor.get(), &residual), name));
    std::vector<double> times;
    CompressionStats stats;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      const Tensor gradient = gradients_.Next();
      TimeBound(gradient);
      absl::Status status;
      times.push_back(Milliseconds([&] {
        auto encoded = compressor->Compress(gradient, &residual);
        status = encoded.status();
        if (encoded.ok()) stats = encoded->stats;
      }));
      PS_RETURN_IF_ERROR(status);
    }
    Row row;
    row.name = name;
    row.milliseconds = Median(times);
    row.bytes_per_element = 16;
    row.remark =
        absl::StrFormat("%d sent, %.2f x target, %d stages %s", stats.count,
                        static_cast<double>(stats.count) / stats.target_count,
                        stats.stages, stats.fallback);
    rows_.push_back(row);
    return absl::OkStatus();
  }

  // The residual pass, a copy of the magnitudes, and std::nth_element.
  void RunYardstick() {
    const int64_t n = options_.elements;
    const int64_t k =
        std::max<int64_t>(1, static_cast<int64_t>(options_.ratio * n));
    std::vector<float> magnitudes(n);
    std::vector<double> times;
    for (int round = 0; round < kYardstickRounds; ++round) {
      const Tensor gradient = gradients_.Next();
      times.push_back(Milliseconds([&] {
        AddPass(gradient.data(), n, plain_.data());
        for (int64_t i = 0; i < n; ++i) {
          magnitudes[i] = std::fabs(plain_.data()[i]);
        }
        std::nth_element(magnitudes.begin(), magnitudes.begin() + (n - k),
                         magnitudes.end());
      }));
    }
    yardstick_ms_ = Median(times);
  }

  void Print() const {
    const double add_ms = Median(add_times_);
    const double read_ms = Median(read_times_);
    const double bound_ms = add_ms + read_ms;
    std::vector<Row> rows = {{"pass residual += gradient", add_ms, 12, ""},
                             {"pass sum |x|", read_ms, 4, ""},
                             {"bound: both", bound_ms, 16, ""},
                             {"std::nth_element", yardstick_ms_, 16, ""}};
    rows.insert(rows.end(), rows_.begin(), rows_.end());
    if (options_.json) {
      for (const Row& row : rows) {
        absl::PrintF(
            "{\"name\":\"%s\",\"elements\":%d,\"ratio\":%g,"
            "\"milliseconds\":%.3f,\"share_of_bound\":%.4f,"
            "\"faster_than_nth_element\":%.3f}\n",
            row.name, options_.elements, options_.ratio, row.milliseconds,
            bound_ms / row.milliseconds, yardstick_ms_ / row.milliseconds);
      }
      return;
    }
    absl::PrintF("%d floats, ratio %g, one core; medians; all verified\n",
                 options_.elements, options_.ratio);
    absl::PrintF("%-26s %9s %7s %7s %7s %8s\n", "", "ms", "GB/s", "bound",
                 "ms/bnd", "x nth");
    for (const Row& row : rows) {
      absl::PrintF(
          "%-26s %9.1f %7.1f %6.0f%% %7.2f %8.1f  %s\n", row.name,
          row.milliseconds,
          row.bytes_per_element * options_.elements / row.milliseconds * 1e-6,
          100 * bound_ms / row.milliseconds, row.milliseconds / bound_ms,
          yardstick_ms_ / row.milliseconds, row.remark);
    }
  }

 private:
  Bench(const Options& options, std::unique_ptr<Backend> backend,
        GradientSource gradients, Tensor plain)
      : options_(options),
        backend_(std::move(backend)),
        gradients_(std::move(gradients)),
        plain_(std::move(plain)) {}

  void TimeBound(const Tensor& gradient) {
    add_times_.push_back(Milliseconds(
        [&] { AddPass(gradient.data(), options_.elements, plain_.data()); }));
    read_times_.push_back(Milliseconds(
        [&] { sink_ += SumMagnitudesPass(plain_.data(), options_.elements); }));
  }

  // One iteration: nothing is lost, and what was sent is what exceeds the
  // threshold (exact top-k: the smallest that was sent).
  absl::Status Verify(Compressor* compressor, Tensor* residual) {
    const int64_t n = options_.elements;
    const Tensor gradient = gradients_.Next();
    std::vector<float> expected(n);
    for (int64_t i = 0; i < n; ++i) {
      expected[i] = residual->data()[i] + gradient.data()[i];
    }
    PS_ASSIGN_OR_RETURN(const EncodedGradient encoded,
                        compressor->Compress(gradient, residual));
    const PayloadPieces pieces = {encoded.parts[0].span()};
    PS_RETURN_IF_ERROR(ValidatePayload(pieces, n).status());
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload(pieces, &indices, &values);
    const CompressionStats& stats = encoded.stats;
    const bool exact = stats.raw_count != stats.count || stats.stages == 0;
    size_t next = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double magnitude = std::fabs(expected[i]);
      const bool sent = next < indices.size() && indices[next] == i;
      const bool should =
          exact ? magnitude >= stats.threshold : magnitude > stats.threshold;
      const float decoded = sent ? values[next] : 0;
      // With ties at the threshold, exact top-k sends some of them.
      const bool tie = exact && magnitude == stats.threshold;
      if ((sent != should && !tie) ||
          decoded + residual->data()[i] != expected[i]) {
        return absl::InternalError(
            absl::StrCat("element ", i, ": residual + gradient is ",
                         expected[i], ", sent ", decoded, ", kept ",
                         residual->data()[i], ", threshold ", stats.threshold));
      }
      if (sent) ++next;
    }
    if (static_cast<int64_t>(next) != stats.count) {
      return absl::InternalError("count differs from what was sent");
    }
    return absl::OkStatus();
  }

  const Options options_;
  std::unique_ptr<Backend> backend_;
  GradientSource gradients_;
  Tensor plain_;  // The residual of the bound and of the yardstick.
  std::vector<double> add_times_;
  std::vector<double> read_times_;
  std::vector<Row> rows_;
  double yardstick_ms_ = 0;
  double sink_ = 0;  // So that the read pass is not left out.
};

absl::Status RunBench(const Options& options) {
  if (options.elements < 1 || options.rounds < 1) {
    return absl::InvalidArgumentError("elements and rounds are at least 1");
  }
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Bench> bench,
                      Bench::Create(options));
  for (const char* name : {"sidco_e", "sidco_gp", "sidco_p", "topk"}) {
    PS_RETURN_IF_ERROR(bench->Run(name));
  }
  bench->RunYardstick();
  bench->Print();
  return absl::OkStatus();
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) {
  ps::Options options;
  ps::CommandText text;
  text.program = "compress_bench";
  text.description =
      "Times the sidco_* compressors and topk on one core against the memory "
      "traffic that they cannot avoid. Needs about 20 bytes of memory an "
      "element.";
  ps::CommandLine command_line(text);
  command_line.AddOption("elements", "N", "Length of the gradient.",
                         &options.elements);
  command_line.AddOption("ratio", "R", "Elements sent over elements.",
                         &options.ratio);
  command_line.AddOption("rounds", "N", "Timed calls of each compressor.",
                         &options.rounds);
  command_line.AddSwitch("json", "Print one JSON object a line.",
                         &options.json);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::Status status = ps::RunBench(options);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
