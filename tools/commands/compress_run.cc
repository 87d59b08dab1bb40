#include "tools/commands/compress_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "formats/npy.h"
#include "nlohmann/json.hpp"
#include "tensor/backend.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

// Writes the arrays to their files.
class OutputArrays {
 public:
  static absl::StatusOr<OutputArrays> Create(const fs::path& directory) {
    PS_ASSIGN_OR_RETURN(NpyWriter<int64_t> indices,
                        NpyWriter<int64_t>::Create(directory / "indices.npy"));
    PS_ASSIGN_OR_RETURN(NpyWriter<float> values,
                        NpyWriter<float>::Create(directory / "values.npy"));
    PS_ASSIGN_OR_RETURN(NpyWriter<int64_t> offsets,
                        NpyWriter<int64_t>::Create(directory / "offsets.npy"));
    PS_ASSIGN_OR_RETURN(NpyWriter<float> residual,
                        NpyWriter<float>::Create(directory / "residual.npy"));
    PS_RETURN_IF_ERROR(offsets.Append({0}));
    return OutputArrays(std::move(indices), std::move(values),
                        std::move(offsets), std::move(residual));
  }

  absl::Status Append(const PayloadPieces& payload) {
    DecodePayload(payload, &indices32_, &decoded_);
    indices64_.assign(indices32_.begin(), indices32_.end());
    total_ += static_cast<int64_t>(indices64_.size());
    PS_RETURN_IF_ERROR(indices_.Append(indices64_));
    PS_RETURN_IF_ERROR(values_.Append(decoded_));
    return offsets_.Append({total_});
  }

  // The last call. All bytes are written before the first file appears, so
  // that a full disk leaves no mixture of old and new.
  absl::Status Commit(absl::Span<const float> residual) {
    PS_RETURN_IF_ERROR(residual_.Append(residual));
    PS_RETURN_IF_ERROR(indices_.Commit());
    PS_RETURN_IF_ERROR(values_.Commit());
    PS_RETURN_IF_ERROR(offsets_.Commit());
    return residual_.Commit();
  }

 private:
  OutputArrays(NpyWriter<int64_t> indices, NpyWriter<float> values,
               NpyWriter<int64_t> offsets, NpyWriter<float> residual)
      : indices_(std::move(indices)),
        values_(std::move(values)),
        offsets_(std::move(offsets)),
        residual_(std::move(residual)) {}

  NpyWriter<int64_t> indices_;
  NpyWriter<float> values_;
  NpyWriter<int64_t> offsets_;
  NpyWriter<float> residual_;
  int64_t total_ = 0;
  std::vector<uint32_t> indices32_;  // Members to reuse their memory.
  std::vector<int64_t> indices64_;
  std::vector<float> decoded_;
};

absl::Status CheckShape(const std::vector<int64_t>& shape) {
  // A file without bytes could hold any number of empty rows, and each would
  // take time.
  if (shape.back() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape is (", absl::StrJoin(shape, ", "),
                     shape.size() == 1 ? ",)" : ")",
                     "; a gradient must have at least 1 element"));
  }
  if (shape.front() == 0) {
    return absl::InvalidArgumentError("there are no rows yet");
  }
  return absl::OkStatus();
}

// Gives output errors another exit code than invalid input.
absl::Status OutputError(const absl::Status& status) {
  return absl::UnknownError(status.message());
}

// The compressor and its data.
struct Machine {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Compressor> compressor;
  Tensor gradient;  // [n]
  Tensor residual;  // [n]
};

absl::StatusOr<Machine> MakeMachine(const CompressRunOptions& options,
                                    int64_t n) {
  Machine machine;
  CpuBackendOptions backend;
  backend.num_threads = options.threads;
  PS_ASSIGN_OR_RETURN(machine.backend, NewCpuCompressorBackend(backend));
  CompressorOptions compressor;
  compressor.config = options.compressor;
  compressor.dense_size = n;
  compressor.seed = options.seed;
  compressor.backend = machine.backend.get();
  PS_ASSIGN_OR_RETURN(machine.compressor, NewCompressor(compressor));
  PS_ASSIGN_OR_RETURN(machine.gradient, machine.backend->Allocate({n}));
  PS_ASSIGN_OR_RETURN(machine.residual, machine.backend->Allocate({n}));
  return machine;
}

// Names the first element that is not finite.
absl::Status NonFiniteError(const Machine& machine) {
  constexpr char kRemedy[] =
      "; leave the row out, or put a finite number there";
  for (const bool with_residual : {false, true}) {
    for (int64_t i = 0; i < machine.gradient.size(); ++i) {
      const float gradient = machine.gradient.data()[i];
      const float x =
          with_residual ? machine.residual.data()[i] + gradient : gradient;
      if (std::isfinite(x)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("element ", i, with_residual ? " with the residual" : "",
                       " is ", x, kRemedy));
    }
  }
  return absl::FailedPreconditionError(
      "what clip_norm or momentum_correction make of the gradient is not "
      "finite");
}

absl::StatusOr<CompressedIteration> CompressOne(
    const CompressRunOptions& options, Machine* machine, OutputArrays* arrays) {
  CompressedIteration iteration;
  const absl::Time start = SteadyClock()->Now();
  PS_ASSIGN_OR_RETURN(
      const EncodedGradient encoded,
      machine->compressor->Compress(machine->gradient, &machine->residual));
  iteration.seconds = absl::ToDoubleSeconds(SteadyClock()->Now() - start);
  iteration.stats = encoded.stats;
  if (encoded.stats.non_finite) {
    return NonFiniteError(*machine);
  }
  if (!options.compressor.error_feedback()) {
    std::fill_n(machine->residual.data(), machine->residual.size(), 0.0f);
  }
  const PayloadPieces payload = {encoded.parts[0].span()};
  // A server does the same before it adds a payload.
  PS_ASSIGN_OR_RETURN(const PayloadInfo info,
                      ValidatePayload(payload, machine->gradient.size()));
  iteration.payload_bytes = static_cast<int64_t>(encoded.parts[0].size_bytes());
  iteration.index_bytes = info.index_bytes;
  iteration.value_bytes = info.value_bytes;
  PS_RETURN_IF_ERROR(arrays->Append(payload));
  return iteration;
}

std::string SummaryJson(const CompressRunOptions& options,
                        const CompressRunResult& result) {
  Json summary;
  summary["compressor"] = options.compressor.ShortDebugString();
  summary["gradient"] = options.gradient_path;
  summary["elements"] = result.elements;
  summary["seed"] = options.seed;
  auto& iterations = summary["iterations"] = Json::array();
  for (const CompressedIteration& each : result.iterations) {
    iterations.push_back({{"threshold", each.stats.threshold},
                          {"raw_count", each.stats.raw_count},
                          {"count", each.stats.count},
                          {"target_count", each.stats.target_count},
                          {"stages", each.stats.stages},
                          {"fallback", each.stats.fallback},
                          {"payload_bytes", each.payload_bytes},
                          {"index_bytes", each.index_bytes},
                          {"value_bytes", each.value_bytes},
                          {"seconds", each.seconds}});
  }
  return JsonText(summary) + "\n";
}

}  // namespace

absl::StatusOr<CompressRunResult> RunCompress(
    const CompressRunOptions& options) {
  PS_ASSIGN_OR_RETURN(const NpyReader<float> gradients,
                      NpyReader<float>::Open(options.gradient_path));
  CompressRunResult result;
  result.elements = gradients.row_elements();
  PS_RETURN_IF_ERROR(
      Annotate(CheckShape(gradients.shape()), options.gradient_path));
  absl::StatusOr<Machine> machine = MakeMachine(options, result.elements);
  if (!machine.ok()) {
    return Annotate(machine.status(), options.gradient_path);
  }

  const fs::path directory = options.output_directory;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return OutputError(absl::ErrnoToStatus(
        error.value(),
        absl::StrCat("cannot make the directory ", options.output_directory)));
  }
  absl::StatusOr<OutputArrays> arrays = OutputArrays::Create(directory);
  if (!arrays.ok()) return OutputError(arrays.status());
  for (int64_t i = 0; i < gradients.rows(); ++i) {
    PS_RETURN_IF_ERROR(gradients.Read(
        i * result.elements,
        absl::MakeSpan(machine->gradient.data(), result.elements)));
    absl::StatusOr<CompressedIteration> iteration =
        CompressOne(options, &*machine, &*arrays);
    if (!iteration.ok()) {
      return Annotate(
          iteration.status(),
          absl::StrCat(options.gradient_path, ", row ", i, " (from 0)"));
    }
    result.iterations.push_back(*std::move(iteration));
  }

  // An old summary would otherwise describe a mixture if a write fails now.
  fs::remove(directory / "summary.json", error);
  PS_RETURN_IF_ERROR(arrays->Commit(
      absl::MakeConstSpan(machine->residual.data(), result.elements)));
  PS_RETURN_IF_ERROR(WriteFileAtomically(directory / "summary.json",
                                         SummaryJson(options, result)));
  return result;
}

}  // namespace ps
