#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/status_macros.h"
#include "formats/safetensors.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "models/onnx/export.h"
#include "models/onnx/import.h"
#include "proto/config.pb.h"
#include "tools/command_line/commands.h"
#include "tools/evaluate/evaluated_job.h"
#include "worker/training_parts.h"

namespace ps {
namespace {

const std::vector<HelpEntry>& ExitCodes() {
  static const auto* const codes = new std::vector<HelpEntry>{
      {"0", "done"},
      {"1", "a file cannot be read or written, or does not fit"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong"},
  };
  return *codes;
}

struct ExportFlags {
  EvaluatedJobFlags evaluated;
  std::string output;
};

absl::Status Export(const ExportFlags& flags) {
  PS_ASSIGN_OR_RETURN(EvaluatedJob job, FindEvaluatedJob(flags.evaluated));
  job.config.mutable_machine()->set_device("cpu");
  PS_ASSIGN_OR_RETURN(const TrainingParts parts,
                      MakeTrainingParts(job.config, /*worker_rank=*/0));
  PS_ASSIGN_OR_RETURN(const Safetensors weights, ReadSafetensors(job.weights));
  const auto bytes =
      ExportOnnx(parts.model->Describe(), parts.data.train->example_shape(),
                 weights.tensors);
  PS_RETURN_IF_ERROR(Annotate(bytes.status(), job.weights));
  return WriteFileAtomically(flags.output, *bytes);
}

struct ImportFlags {
  std::string onnx;
  std::string output;
};

absl::Status Import(const ImportFlags& flags) {
  PS_ASSIGN_OR_RETURN(const ImportedNetwork network,
                      ImportOnnxFile(flags.onnx));
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", flags.output, ": ", error.message()));
  }
  const std::string weights = flags.output + "/weights.safetensors";
  std::vector<SafetensorsView> views;
  for (const SafetensorsTensor& tensor : network.tensors) {
    views.push_back({tensor.name, tensor.shape, tensor.values});
  }
  PS_RETURN_IF_ERROR(WriteSafetensors(weights, views, {}));
  JobConfig part;
  ModelConfig& model = *part.mutable_model();
  model.set_name("layers");
  model.set_initial_weights(weights);
  *model.mutable_layers() = network.layers;
  std::string text;
  google::protobuf::TextFormat::PrintToString(part, &text);
  const std::string path = flags.output + "/model.textproto";
  PS_RETURN_IF_ERROR(WriteFileAtomically(path, text));
  for (const std::string& note : network.notes) {
    std::printf("%s\n", note.c_str());
  }
  std::printf(
      "Put the block of %s into a job in place of its model { ... }, and try "
      "the job with: gradsieve train JOB --check\n",
      path.c_str());
  return absl::OkStatus();
}

}  // namespace

int RunModelExport(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve model export";
  text.description =
      "Writes a job's network with the weights of a run as an ONNX file, which "
      "computes what the network does in inference (docs/weights.md). Reads "
      "the "
      "job's data, on which the network depends.";
  text.examples = {
      {"gradsieve model export runs/lenet --output=lenet.onnx",
       "what a run has trained"},
  };
  text.exit_codes = ExitCodes();
  ExportFlags flags;
  CommandLine command_line(text);
  command_line.AddArgument(
      "JOB", "The job, a .textproto file; or the directory of a run.",
      &flags.evaluated.job);
  command_line.AddOption("weights", "FILE",
                         "The weights, a .safetensors file; default: "
                         "weights.safetensors of the run.",
                         &flags.evaluated.weights);
  command_line.AddRequiredOption("output", "FILE", "The ONNX file to write.",
                                 &flags.output);
  AddOverrides(&command_line, &flags.evaluated.overrides, "data.directory=X");
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = google::GLOG_WARNING;
  return EndCommand("model export", Export(flags));
}

int RunModelImport(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve model import";
  text.description =
      "Reads a network from an ONNX file (docs/weights.md), and writes "
      "model.textproto, which is the part of a job that describes it, and "
      "weights.safetensors, from which training starts.";
  text.examples = {
      {"gradsieve model import net.onnx --output=net",
       "then put net/model.textproto into a job"},
  };
  text.exit_codes = ExitCodes();
  ImportFlags flags;
  CommandLine command_line(text);
  command_line.AddArgument("FILE", "The ONNX file.", &flags.onnx);
  command_line.AddRequiredOption(
      "output", "DIR", "The folder to write to; it is made.", &flags.output);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return EndCommand("model import", Import(flags), kExitFailed);
}

}  // namespace ps
