#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/flags.h"
#include "common/program.h"
#include "compressors/compressor.h"
#include "proto/compressor_config.pb.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/compressor_argument.h"
#include "tools/command_line/human_format.h"
#include "tools/commands/compress_run.h"

namespace ps {
namespace {

constexpr int64_t kMaxThreads = 1024;

struct Flags {
  std::string compressor;
  std::string gradient;
  std::string output;
  int64_t seed = 1;
  int64_t threads = 1;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve compress";
  text.description =
      "Applies a compressor with its residual to gradients in a file, one "
      "after the other as in training, and writes what a server would add: "
      "indices.npy (int64) and values.npy (float32) of all iterations, "
      "offsets.npy (where each iteration begins in them), residual.npy (the "
      "residual after the last) and summary.json (threshold, counts, bytes and "
      "seconds of each iteration). The job option training.dump_gradients "
      "writes such files in a real training. A gradient is treated as one "
      "tensor of unknown shape: adacomp sees one layer, and powersgd is "
      "refused.";
  text.examples = {
      {"gradsieve compress --compressor='name: \"sidco_e\" ratio: 0.001' "
       "--gradient=g.npy --output=out",
       "the compressor as text"},
      {"gradsieve compress --compressor=c.textproto --gradient=g.npy "
       "--output=out",
       "the same text in a file"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "the result could not be written"},
      {"64", "the command line makes no sense"},
      {"78", "the compressor or the gradient file is wrong"},
  };
  return text;
}

absl::Status CheckFlags(const Flags& flags) {
  if (flags.seed < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seed is ", flags.seed, "; must be at least 0"));
  }
  if (flags.threads < 1 || flags.threads > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--threads is ", flags.threads, "; must be in [1, ", kMaxThreads, "]"));
  }
  if (flags.compressor.empty()) {
    return absl::InvalidArgumentError("--compressor is empty");
  }
  if (flags.output.empty()) {
    return absl::InvalidArgumentError("--output is empty");
  }
  return absl::OkStatus();
}

void PrintResult(const CompressRunResult& result, const Flags& flags,
                 bool has_target) {
  int64_t sent = 0;
  int64_t target = 0;
  int64_t bytes = 0;
  double seconds = 0;
  for (const CompressedIteration& each : result.iterations) {
    sent += each.stats.count;
    target += each.stats.target_count;
    bytes += each.payload_bytes;
    seconds += each.seconds;
  }
  const double iterations = static_cast<double>(result.iterations.size());
  absl::PrintF("iterations      %s of %s elements\n",
               FormatCount(static_cast<int64_t>(result.iterations.size())),
               FormatCount(result.elements));
  if (sent > 0) {
    absl::PrintF("achieved ratio  %.6g",
                 static_cast<double>(sent) / iterations /
                     static_cast<double>(result.elements));
    if (has_target) {
      absl::PrintF(" (%.3f x target)",
                   static_cast<double>(sent) / static_cast<double>(target));
    }
    absl::PrintF("\n");
    absl::PrintF("bytes           %s, %.2f bits per sent element\n",
                 FormatBytes(bytes),
                 8 * static_cast<double>(bytes) / static_cast<double>(sent));
  }
  if (iterations > 0) {
    absl::PrintF("time            %.3f ms per iteration\n",
                 1e3 * seconds / iterations);
  }
  absl::PrintF("The result is in %s\n", flags.output);
}

}  // namespace

int RunCompressCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddRequiredOption(
      "compressor", "FILE_OR_TEXT",
      "The compressor: a .textproto file with a CompressorConfig, or its text.",
      &flags.compressor);
  command_line.AddRequiredOption(
      "gradient", "FILE",
      "The gradients: .npy, float32, of shape [n] or [iterations, n].",
      &flags.gradient);
  command_line.AddRequiredOption(
      "output", "DIR",
      "Folder for the result; replaces files of an earlier result.",
      &flags.output);
  command_line.AddOption("seed", "S", "Seed for random draws.", &flags.seed);
  command_line.AddOption("threads", "N",
                         "Threads; the result does not depend on them.",
                         &flags.threads);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const auto fail = [](const absl::Status& status, int exit_code) {
    return FailCommand("compress", status, exit_code);
  };
  const absl::Status usable = CheckFlags(flags);
  if (!usable.ok()) return fail(usable, kExitUsage);
  const absl::StatusOr<CompressorConfig> compressor =
      CompressorFromArgument(flags.compressor);
  if (!compressor.ok()) return fail(compressor.status(), kExitConfig);

  CompressRunOptions options;
  options.compressor = *compressor;
  options.gradient_path = flags.gradient;
  options.output_directory = flags.output;
  options.seed = static_cast<uint64_t>(flags.seed);
  options.threads = static_cast<int>(flags.threads);
  const absl::StatusOr<CompressRunResult> result = RunCompress(options);
  if (!result.ok()) {
    return fail(result.status(), ExitCodeFor(result.status()));
  }
  PrintResult(*result, flags,
              FindCompressor(compressor->name()).has_target_ratio);
  return kExitDone;
}

}  // namespace ps
