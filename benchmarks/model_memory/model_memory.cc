// Compares the measured peak memory of a worker's computation with the planned
// one: forward, backward and compression with a residual. It runs in its own
// process because the system counts memory for whole processes only.
//
//   model_memory lstm_lm|resnet50|... [--batch=N] [--threads=N]
//   [--iterations=N]

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "benchmarks/model_memory/memory_cases.h"
#include "common/status_macros.h"
#include "compressors/new_compressor.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tensor/counting_backend.h"

namespace ps {
namespace {

struct Options {
  std::string model;
  int64_t batch = 0;  // 0 selects that of the case.
  int threads = 1;
  int iterations = 3;
};

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    absl::string_view value = argv[i];
    const auto number = [&](absl::string_view prefix, auto* result) {
      absl::string_view rest = value;
      return absl::ConsumePrefix(&rest, prefix) &&
             absl::SimpleAtoi(rest, result) && *result >= 1;
    };
    if (options.model.empty() && value.substr(0, 2) != "--") {
      options.model = std::string(value);
    } else if (!number("--batch=", &options.batch) &&
               !number("--threads=", &options.threads) &&
               !number("--iterations=", &options.iterations)) {
      return absl::InvalidArgumentError(absl::StrCat(
          value,
          ": expected one model and --batch=N, --threads=N, --iterations=N, "
          "each at least 1"));
    }
  }
  return options;
}

// Returns a field of /proc/self/status in bytes: "VmHWM", the peak of the
// resident memory, or "VmRSS".
absl::StatusOr<int64_t> ProcessMemory(absl::string_view field) {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    absl::string_view rest = line;
    int64_t kibibytes = 0;
    if (absl::ConsumePrefix(&rest, absl::StrCat(field, ":")) &&
        absl::ConsumeSuffix(&rest, " kB") &&
        absl::SimpleAtoi(rest, &kibibytes)) {
      return kibibytes * 1024;
    }
  }
  return absl::UnavailableError(
      absl::StrCat("/proc/self/status has no ", field));
}

void PrintLine(const std::string& what, int64_t bytes, int64_t peak) {
  std::printf("%-32s %9.1f MiB %6.1f %%\n", what.c_str(),
              static_cast<double>(bytes) / (1 << 20),
              100.0 * static_cast<double>(bytes) / static_cast<double>(peak));
}

absl::StatusOr<std::unique_ptr<Compressor>> NewSidco(const Model& model,
                                                     Backend* backend) {
  CompressorOptions options;
  options.config.set_name("sidco_e");
  options.config.set_ratio(0.001);
  options.dense_size = model.num_parameters();
  for (const ParameterInfo& parameter : model.parameters()) {
    options.tensors.push_back({parameter.offset, parameter.shape});
  }
  options.backend = backend;
  return NewCompressor(options);
}

absl::Status Run(const Options& options) {
  PS_ASSIGN_OR_RETURN(const MemoryCase memory_case,
                      FindMemoryCase(options.model));
  const int64_t batch_size =
      options.batch > 0 ? options.batch : memory_case.batch_size;
  CpuBackendOptions cpu;
  cpu.num_threads = options.threads;
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                      NewCpuBackend(cpu));
  PS_ASSIGN_OR_RETURN(const int64_t at_start, ProcessMemory("VmRSS"));

  CountingBackend counting(backend.get());
  const Batch batch = RandomBatch(memory_case.example, batch_size);
  ModelOptions model_options;
  model_options.config = memory_case.config;
  model_options.example = memory_case.example;
  model_options.backend = backend.get();
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                      NewModel(model_options));
  const int64_t n = model->num_parameters();
  PS_ASSIGN_OR_RETURN(Tensor weights, backend->Allocate({n}));
  PS_ASSIGN_OR_RETURN(Tensor gradient, backend->Allocate({n}));
  PS_ASSIGN_OR_RETURN(Tensor residual, backend->Allocate({n}));
  model->InitializeWeights(/*seed=*/1, weights.data());
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Compressor> compressor,
                      NewSidco(*model, &counting));
  for (int i = 0; i < options.iterations; ++i) {
    PS_RETURN_IF_ERROR(
        model->ForwardBackward(batch, weights, &gradient, nullptr).status());
    PS_ASSIGN_OR_RETURN(const EncodedGradient encoded,
                        compressor->Compress(gradient, &residual));
    if (encoded.stats.count == 0) {
      return absl::InternalError("the compressor chose nothing");
    }
  }
  PS_ASSIGN_OR_RETURN(const int64_t peak, ProcessMemory("VmHWM"));

  const int64_t vector = n * static_cast<int64_t>(sizeof(float));
  const int64_t inputs =
      static_cast<int64_t>(batch.inputs.size() * sizeof(float) +
                           batch.labels.size() * sizeof(int32_t));
  std::printf("%s, %lld parameters, batch %lld, %d thread(s), sidco_e\n",
              options.model.c_str(), static_cast<long long>(n),
              static_cast<long long>(batch_size), options.threads);
  PrintLine("weights, gradient, residual", 3 * vector, peak);
  PrintLine("activations, as planned", model->activation_bytes(), peak);
  PrintLine("compressor, as allocated", counting.bytes(), peak);
  PrintLine("the batch on the host", inputs, peak);
  PrintLine("the program before the model", at_start, peak);
  PrintLine("not in this list",
            peak - 3 * vector - model->activation_bytes() - counting.bytes() -
                inputs - at_start,
            peak);
  PrintLine("peak", peak, peak);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const auto options = ParseOptions(argc, argv);
  const absl::Status status = options.ok() ? Run(*options) : options.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) { return ps::Main(argc, argv); }
