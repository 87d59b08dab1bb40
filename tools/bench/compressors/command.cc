#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/device_name.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/json.h"
#include "common/machine_limits.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "optimizers/optimizer.h"
#include "tensor/new_backend.h"
#include "tools/bench/compressors/measurement.h"
#include "tools/bench/compressors/options.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/human_format.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

struct Flags {
  // 1 MiB, 16 MiB, and the LSTM of SIDCo's language model.
  std::string sizes = "262144,4194304,66034000";
  std::string ratios = "0.1,0.01,0.001";
  std::string names;
  std::string device = "cpu";
  std::string json;
  std::string worker_optimizer;
  int64_t rounds = 9;
  int64_t threads = 1;
};

struct Request {
  std::vector<int64_t> sizes;
  std::vector<double> ratios;
  std::vector<std::string> names;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve bench compressors";
  text.description =
      "Times compressors on the CPU or a CUDA device, with error feedback, on "
      "gradients drawn from a Laplace distribution, until the payload is in "
      "the host's memory and the residual is ready. On the CPU the bound is "
      "one pass residual += gradient and one pass over the magnitudes, on one "
      "thread, and the yardstick (\"nth\") is the same residual pass and "
      "std::nth_element. "
      "On a device the bound is the memory traffic of one pass, 12 bytes per "
      "element, at the rate of a copy there, and benchmarks/torch_topk.py "
      "--device=cuda is the yardstick. All are timed in turns with the "
      "compressor, so that a busy machine slows all alike, and medians are "
      "shown. Every row is verified by plain loops before it is printed: "
      "decoded + residual equals the input, and the elements that were sent "
      "are those that exceed the threshold. The gradient is one tensor of "
      "unknown shape: adacomp sees one layer, and powersgd cannot be timed. "
      "Needs about 32 bytes of memory per element; a run with the defaults "
      "takes some minutes.";
  text.examples = {
      {"gradsieve bench compressors --sizes=66e6 --ratios=0.001 "
       "--names=sidco_e,topk",
       "two compressors at the size and ratio for which SIDCo was made"},
      {"gradsieve bench compressors --device=cuda:0 --sizes=66e6",
       "all compressors on the first CUDA device"},
      {"gradsieve bench compressors --names=sidco_e,sidco_e+qsgdinf "
       "--json=bench.json",
       "with another value code; also as JSON"},
  };
  text.exit_codes = {
      {"0", "measured"},
      {"1", "a result was wrong, or memory or disk did not suffice"},
      {"64", "the command line makes no sense"},
  };
  return text;
}

absl::StatusOr<Request> ParseRequest(const Flags& flags) {
  Request request;
  PS_ASSIGN_OR_RETURN(request.sizes, ParseSizes(flags.sizes));
  PS_ASSIGN_OR_RETURN(request.ratios, ParseRatios(flags.ratios));
  PS_ASSIGN_OR_RETURN(request.names, ParseNames(flags.names));
  for (const std::string& name : request.names) {
    for (const double ratio : request.ratios) {
      PS_RETURN_IF_ERROR(BenchConfig(name, ratio).status());
    }
  }
  if (!ParseDeviceName(flags.device).has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device is \"", flags.device, "\"; it ", kDeviceNameRule));
  }
  if (!flags.worker_optimizer.empty()) {
    OptimizerOptions rule;
    rule.config.set_name(flags.worker_optimizer);
    PS_RETURN_IF_ERROR(
        Annotate(NewOptimizer(rule).status(), "--worker-optimizer"));
  }
  if (flags.rounds < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rounds is ", flags.rounds, "; must be at least 1"));
  }
  if (flags.threads < 1 || flags.threads > MachineCores()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads is ", flags.threads, "; must be 1 to ",
                     MachineCores(), ", the cores of this machine"));
  }
  return request;
}

void PrintHeader(int64_t elements, double ratio) {
  PrintNow(absl::StrFormat(
      "\n%s elements, ratio %g\n%-22s %9s %7s %7s %7s %9s %7s %7s\n",
      FormatCount(elements), ratio, "", "ms", "GB/s", "bound", "x nth",
      "achieved", "bits", "entropy"));
}

// "–" for a value that could not be measured.
std::string Cell(double value) {
  constexpr char kMissing[] = "      –";  // As wide as a number.
  return std::isfinite(value) ? absl::StrFormat("%7.2f", value) : kMissing;
}

void PrintRow(const std::string& name, int64_t elements,
              double bytes_per_element, const CompressorTiming& timing) {
  const double gigabytes_per_second = bytes_per_element *
                                      static_cast<double>(elements) /
                                      timing.milliseconds * 1e-6;
  absl::PrintF("%-22s %9.3f %7.2f %6.0f%% %s %9.3g %s %s", name,
               timing.milliseconds, gigabytes_per_second,
               100 * timing.bound_milliseconds / timing.milliseconds,
               Cell(timing.topk_milliseconds / timing.milliseconds),
               timing.AchievedRatio(elements),
               Cell(timing.BitsPerSentElement()),
               Cell(timing.EntropyBitsPerSentElement()));
  if (std::isfinite(timing.step_milliseconds)) {
    absl::PrintF("  + %.3f ms step, %.3f ms follow", timing.step_milliseconds,
                 timing.follow_milliseconds);
  }
  if (timing.last.stages > 0) {
    absl::PrintF("  %d stage%s", timing.last.stages,
                 timing.last.stages == 1 ? "" : "s");
  }
  if (!timing.last.fallback.empty()) {
    absl::PrintF("  %s", timing.last.fallback);
  }
  std::puts("");
  std::fflush(stdout);
}

Json RowJson(const std::string& name, int64_t elements, double ratio,
             const CompressorTiming& timing) {
  // A NaN becomes null.
  return {
      {"name", name},
      {"elements", elements},
      {"ratio", ratio},
      {"milliseconds", timing.milliseconds},
      {"bound_milliseconds", timing.bound_milliseconds},
      {"topk_milliseconds", timing.topk_milliseconds},
      {"step_milliseconds", timing.step_milliseconds},
      {"follow_milliseconds", timing.follow_milliseconds},
      {"achieved_ratio", timing.AchievedRatio(elements)},
      {"bits_per_sent_element", timing.BitsPerSentElement()},
      {"entropy_bits_per_sent_element", timing.EntropyBitsPerSentElement()},
  };
}

// All rows, printed one by one and returned as JSON at the end.
absl::StatusOr<Json> Measure(const Request& request, const Flags& flags,
                             Backend* backend) {
  Json rows = Json::array();
  for (const int64_t elements : request.sizes) {
    CompressorBenchOptions options;
    options.elements = elements;
    options.rounds = flags.rounds;
    options.worker_optimizer = flags.worker_optimizer;
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<CompressorBench> bench,
                        CompressorBench::Create(options, backend));
    for (const double ratio : request.ratios) {
      PrintHeader(elements, ratio);
      for (const std::string& name : request.names) {
        PS_ASSIGN_OR_RETURN(const CompressorConfig config,
                            BenchConfig(name, ratio));
        const absl::StatusOr<CompressorTiming> timing = bench->Run(config);
        if (!timing.ok()) {
          return Annotate(
              timing.status(),
              absl::StrCat(name, ", ", elements, " elements, ratio ", ratio));
        }
        PrintRow(name, elements, bench->bound_bytes_per_element(), *timing);
        rows.push_back(RowJson(name, elements, ratio, *timing));
      }
    }
  }
  return rows;
}

absl::Status Bench(const Request& request, const Flags& flags) {
  PS_ASSIGN_OR_RETURN(std::optional<AtomicFile> json, OpenOutput(flags.json));
  DeviceOptions device;
  device.device = flags.device;
  // What a device selects is encoded on all cores.
  device.num_threads =
      flags.device == "cpu" ? static_cast<int>(flags.threads) : MachineCores();
  PS_ASSIGN_OR_RETURN(const ChosenBackend chosen, NewBackend(device));
  absl::PrintF(
      "On %s; error feedback, medians.\nbound: share of the memory bound; "
      "GB/s: "
      "of its bytes; x nth: times faster than\nstd::nth_element; bits and "
      "their entropy: for each element that is sent.\n",
      chosen.description);
  PS_ASSIGN_OR_RETURN(const Json rows,
                      Measure(request, flags, chosen.backend.get()));
  return CommitOutput(JsonText(rows) + "\n", &json);
}

}  // namespace

int RunBenchCompressorsCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddOption("sizes", "N,N,...", "Elements of the gradients.",
                         &flags.sizes);
  command_line.AddOption("ratios", "R,R,...", "Elements sent over elements.",
                         &flags.ratios);
  command_line.AddOption("names", "NAME,NAME,...",
                         "Compressors, each with an optional value code as "
                         "+CODE; default: all that need no shapes, with "
                         "fp32.",
                         &flags.names);
  command_line.AddOption("device", "NAME",
                         "cpu, cuda, cuda:N or auto, as for machine.device.",
                         &flags.device);
  command_line.AddOption("json", "FILE", "Write the rows as a list of objects.",
                         &flags.json);
  command_line.AddOption(
      "rounds", "N", "Timed calls; short gradients get more.", &flags.rounds);
  command_line.AddOption("threads", "N", "Threads of a compressor on the CPU.",
                         &flags.threads);
  command_line.AddOption("worker-optimizer", "NAME",
                         "Compress this rule's steps, as in delta mode, and "
                         "also time the step and "
                         "following an answer with the same elements.",
                         &flags.worker_optimizer);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::StatusOr<Request> request = ParseRequest(flags);
  if (!request.ok()) {
    return FailCommand("bench compressors", request.status(), kExitUsage);
  }
  return EndCommand("bench compressors", Bench(*request, flags), kExitFailed);
}

}  // namespace ps
