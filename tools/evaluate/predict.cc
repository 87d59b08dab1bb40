#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/status_macros.h"
#include "data/dataset.h"
#include "data/image_converter.h"
#include "data/image_files.h"
#include "data/image_folder.h"
#include "data/image_list.h"
#include "glog/logging.h"
#include "tools/command_line/commands.h"
#include "tools/evaluate/class_names.h"
#include "tools/evaluate/evaluated_job.h"
#include "tools/evaluate/input_files.h"
#include "tools/evaluate/predictions.h"
#include "worker/evaluator.h"

namespace ps {
namespace {

struct Flags {
  EvaluatedJobFlags evaluated;
  std::vector<std::string> inputs;
  int64_t top = 5;
  std::string format = "csv";
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve predict";
  text.description =
      "Prints what a model takes images for: for each, the most probable "
      "classes with their probabilities. Files are JPEG or PNG, and are scaled "
      "and cropped to what the model was trained on. For the data set "
      "image_folder its images are not needed; for others the scale of pixels "
      "is taken from the training images. Without any files, the test set of "
      "the job is used, whose examples may also be texts, and the true class "
      "of each is printed, too.";
  text.examples = {
      {"gradsieve predict runs/photos holiday/ cat.jpg",
       "a folder and a file, with the final weights of a run"},
      {"gradsieve predict runs/mnist --top=1 > predictions.csv",
       "each image of the test set"},
      {"gradsieve predict job.textproto --weights=resnet18.safetensors "
       "--classes=imagenet.txt cat.jpg --format=json",
       "with weights and class names from elsewhere"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "the device or a file failed; the message says why"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong, or weights or images do not fit it"},
  };
  return text;
}

// What is predicted, and what it needs.
struct Inputs {
  DatasetPair data;  // Null if the training images are not needed.
  std::unique_ptr<ImageConverter> converter;
  std::unique_ptr<Dataset> files;  // Uses one of these.
  const Dataset* set = nullptr;
};

absl::Status ReadData(const EvaluatedJob& job, Inputs* inputs) {
  DatasetOptions data;
  data.config = job.config.data();
  data.seed = job.config.seed();
  PS_ASSIGN_OR_RETURN(inputs->data, NewDataset(data));
  if (HasClasses(inputs->data.test->example_shape().task)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("predictions are for examples with a class; data.name is \"",
                   job.config.data().name(),
                   "\". `gradsieve evaluate` says how good its model is"));
}

// How many classes a model of photographs has is known from their names.
absl::StatusOr<std::vector<std::string>> PhotographClasses(
    const EvaluatedJob& job) {
  PS_ASSIGN_OR_RETURN(std::vector<std::string> names, KnownClassNames(job));
  if (!names.empty()) return names;
  auto listed = ListClasses(job.config.data().directory() + "/train");
  if (listed.ok()) return std::move(listed->folders);
  return Annotate(
      listed.status(),
      "there is no classes.txt beside the weights, and no --classes");
}

absl::StatusOr<Inputs> InputsOf(const EvaluatedJob& job,
                                const std::vector<std::string>& names) {
  Inputs inputs;
  if (names.empty()) {
    PS_RETURN_IF_ERROR(ReadData(job, &inputs));
    inputs.set = inputs.data.test.get();
    return inputs;
  }
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                      FindImageFiles(names));
  if (job.config.data().name() == "image_folder") {
    const ImageFolderConfig& config = job.config.data().image_folder();
    PS_ASSIGN_OR_RETURN(const std::vector<std::string> classes,
                        PhotographClasses(job));
    inputs.converter = NewPhotographConverter(config);
    inputs.files = NewImageFiles(
        paths, PhotographShape(config, static_cast<int64_t>(classes.size())),
        inputs.converter.get(), classes);
  } else {
    // The scale of pixels is that of the training images.
    PS_RETURN_IF_ERROR(ReadData(job, &inputs));
    const Dataset& test = *inputs.data.test;
    if (test.converter() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "files cannot become images of data.name \"",
          job.config.data().name(), "\"; leave them out to use its test set"));
    }
    inputs.files = NewImageFiles(paths, test.example_shape(), test.converter(),
                                 test.class_names());
  }
  inputs.set = inputs.files.get();
  return inputs;
}

// Prints a line for each example that an evaluation shows it.
class Printer {
 public:
  Printer(const Flags& flags, const Dataset* dataset,
          std::vector<std::string> class_names)
      : json_(flags.format == "json"),
        has_labels_(flags.inputs.empty()),
        dataset_(dataset),
        class_names_(std::move(class_names)),
        top_(std::min(flags.top, num_classes())) {
    if (!json_) Print(CsvHeader(top_, has_labels_));
  }

  absl::Status Add(const Batch& batch, const std::vector<float>& outputs) {
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      Prediction prediction;
      prediction.file = dataset_->example_name(next_++);
      if (has_labels_) prediction.label = class_names_[batch.labels[i]];
      for (const ClassProbability& each :
           TopClasses({&outputs[i * num_classes()],
                       static_cast<size_t>(num_classes())},
                      top_)) {
        prediction.classes.push_back(
            {class_names_[each.number], each.probability});
      }
      Print(json_ ? JsonLine(prediction) : CsvLine(prediction));
    }
    return Flush();
  }

 private:
  int64_t num_classes() const {
    return static_cast<int64_t>(class_names_.size());
  }

  static void Print(const std::string& line) {
    std::fputs(line.c_str(), stdout);
  }

  static absl::Status Flush() {
    if (std::fflush(stdout) == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, "cannot write the predictions");
  }

  const bool json_;
  const bool has_labels_;
  const Dataset* const dataset_;  // Not owned.
  const std::vector<std::string> class_names_;
  const int64_t top_;
  int64_t next_ = 0;  // Evaluations show images in order.
};

absl::Status Run(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const EvaluatedJob job,
                      FindEvaluatedJob(flags.evaluated));
  PS_ASSIGN_OR_RETURN(const Inputs inputs, InputsOf(job, flags.inputs));
  PS_ASSIGN_OR_RETURN(std::vector<std::string> names,
                      ClassNamesOf(job, *inputs.set));
  PS_ASSIGN_OR_RETURN(const LoadedModel loaded,
                      LoadEvaluatedModel(job, inputs.set->example_shape(),
                                         inputs.data.description.text()));
  Printer printer(flags, inputs.set, std::move(names));
  return Evaluate(*inputs.set, loaded.weights, loaded.model.get(),
                  [&](const Batch& batch, const std::vector<float>& outputs) {
                    return printer.Add(batch, outputs);
                  })
      .status();
}

absl::Status CheckFlags(const Flags& flags) {
  if (flags.format != "csv" && flags.format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format is ", flags.format, "; must be csv or json"));
  }
  if (flags.top < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--top is ", flags.top, "; must be at least 1"));
  }
  return absl::OkStatus();
}

}  // namespace

int RunPredictCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  AddEvaluatedJob(&flags.evaluated, &command_line);
  command_line.AddMoreArguments("INPUT",
                                "Images, and folders in which all images are "
                                "taken; none: the test set.",
                                &flags.inputs);
  command_line.AddOption(
      "top", "K", "Number of most probable classes to print.", &flags.top);
  command_line.AddOption("format", "FORMAT",
                         "csv, or json for one object on each line.",
                         &flags.format);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::Status checked = CheckFlags(flags);
  if (!checked.ok()) return FailCommand("predict", checked, kExitUsage);
  FLAGS_minloglevel = google::GLOG_WARNING;
  return EndCommand("predict", Run(flags));
}

}  // namespace ps
