// Measures the time of a training step (forward, backward, update by SGD with
// momentum) of one model on one batch, without communication, and where this
// time goes.
//
//   training_step_bench --model=resnet20 --batch=128 [--threads=1]
//       [--device=cpu] [--precision=fp32] [--hidden=N]
//       [--fastest] [--no-graphs] [--json] [--dump=FILE]
// All steps train on one random batch; the falling loss shows that they are
// real. On a CUDA device a step's time ends when the device is idle, and
// includes that the next batch goes up, beside the step. Where the time goes is
// reported only with CUDA_LAUNCH_BLOCKING=1 in the environment, which makes the
// step itself slower. --fastest is machine.deterministic = false: a device
// tries its libraries' algorithms. --dump=FILE times nothing: it computes one
// gradient, without dropout, and writes it as safetensors, with the loss, the
// batch and the weights that it belongs to.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "benchmarks/training_step/step_inputs.h"
#include "benchmarks/training_step/step_update.h"
#include "common/batch.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "formats/safetensors.h"
#include "models/layers/layer_times.h"
#include "models/model.h"
#include "nlohmann/json.hpp"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/new_backend.h"
#include "tensor/precision.h"

namespace ps {
namespace {

struct Options {
  std::string model = "resnet20";
  int64_t batch = 128;
  int threads = 1;
  int steps = 10;
  int warm_up = 3;  // The second step may be recorded as a graph on a device.
  std::string device = "cpu";
  Precision precision = Precision::kFp32;
  int hidden = 0;  // The size of lstm_lm; 0 selects the model's default.
  bool fastest = false;
  bool graphs = true;  // Records CUDA graphs where the backend has them.
  bool json = false;
  std::string dump;  // The file to write; if empty, times the step.
};

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    const auto number = [&](absl::string_view prefix, auto* value) {
      absl::string_view rest = argument;
      return absl::ConsumePrefix(&rest, prefix) &&
             absl::SimpleAtoi(rest, value) && *value >= 1;
    };
    const auto precision = [&]() {
      for (const Precision known :
           {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
        if (absl::EqualsIgnoreCase(
                argument, absl::StrCat("--precision=", PrecisionName(known)))) {
          options.precision = known;
          return true;
        }
      }
      return false;
    };
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--fastest") {
      options.fastest = true;
    } else if (argument == "--no-graphs") {
      options.graphs = false;
    } else if (absl::ConsumePrefix(&argument, "--model=")) {
      options.model = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--dump=")) {
      options.dump = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--device=")) {
      options.device = std::string(argument);
    } else if (!precision() && !number("--batch=", &options.batch) &&
               !number("--hidden=", &options.hidden) &&
               !number("--threads=", &options.threads) &&
               !number("--steps=", &options.steps)) {
      return absl::InvalidArgumentError(absl::StrCat(
          argument,
          ": options are --model=NAME, --batch=N, --threads=N, --steps=N (each "
          "at least 1), --hidden=N, --device=NAME, --precision=fp32, tf32 or "
          "bf16, --fastest, --no-graphs, --json, and --dump=FILE"));
    }
  }
  return options;
}

// Times in milliseconds, for the table and for JSON.
double Milliseconds(absl::Duration duration) {
  return absl::ToDoubleMilliseconds(duration);
}

struct Report {
  std::vector<double> step_ms;  // One time for each timed step.
  double update_ms = 0;         // The mean.
  double first_loss = 0;
  double last_loss = 0;
  int64_t num_parameters = 0;
  int64_t activation_bytes = 0;
  double reorders_per_step = 0;

  double median_ms() const {
    std::vector<double> sorted = step_ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

absl::StatusOr<Report> Measure(const Options& options, Backend* backend,
                               Model* model, Batch* batch) {
  Report report;
  const int64_t n = model->num_parameters();
  report.num_parameters = n;
  PS_ASSIGN_OR_RETURN(Tensor weights, backend->Allocate({n}));
  PS_ASSIGN_OR_RETURN(Tensor gradient, backend->Allocate({n}));
  PS_ASSIGN_OR_RETURN(StepUpdate momentum,
                      StepUpdate::Create(n, StepSize(options.model), backend));
  std::vector<float> initial(n);
  model->InitializeWeights(/*seed=*/1, initial.data());
  PS_RETURN_IF_ERROR(backend->CopyFromHost(initial.data(), &weights));
  absl::Duration update;
  int64_t reorders = 0;
  for (int i = -options.warm_up; i < options.steps; ++i) {
    if (i == 0) {
      model->layer_times().Clear();
      update = absl::ZeroDuration();
      reorders = backend->nn().num_reorders();
    }
    const absl::Time start = SteadyClock()->Now();
    PS_ASSIGN_OR_RETURN(
        const BatchResult result,
        model->ForwardBackward(*batch, weights, &gradient, nullptr));
    PS_RETURN_IF_ERROR(model->Upload(batch));
    {
      const TimeAdder timer(&update);
      PS_RETURN_IF_ERROR(momentum.Step(&gradient, &weights));
      // This copy runs after all queued work of a device.
      float first;
      PS_RETURN_IF_ERROR(backend->CopyToHost(weights.Slice(0, 1), &first));
    }
    const double ms = Milliseconds(SteadyClock()->Now() - start);
    if (i == -options.warm_up) report.first_loss = result.loss;
    if (i >= 0) report.step_ms.push_back(ms);
    report.last_loss = result.loss;
  }
  report.update_ms = Milliseconds(update) / options.steps;
  report.reorders_per_step =
      static_cast<double>(backend->nn().num_reorders() - reorders) /
      options.steps;
  report.activation_bytes = model->activation_bytes();
  return report;
}

// Writes "loss", "inputs" and "labels", and for each parameter its weights,
// under its name, and "gradient of NAME".
absl::Status Dump(const Options& options, Backend* backend, Model* model,
                  const Batch& batch) {
  const int64_t n = model->num_parameters();
  std::vector<float> weights(n);
  std::vector<float> gradient(n);
  model->InitializeWeights(/*seed=*/1, weights.data());
  PS_ASSIGN_OR_RETURN(Tensor device_weights, backend->Allocate({n}));
  PS_ASSIGN_OR_RETURN(Tensor device_gradient, backend->Allocate({n}));
  PS_RETURN_IF_ERROR(backend->CopyFromHost(weights.data(), &device_weights));
  PS_ASSIGN_OR_RETURN(
      const BatchResult result,
      model->ForwardBackward(batch, device_weights, &device_gradient, nullptr));
  PS_RETURN_IF_ERROR(backend->CopyToHost(device_gradient, gradient.data()));
  const float loss = static_cast<float>(result.loss);
  const std::vector<float> labels(batch.labels.begin(), batch.labels.end());
  const auto vector = [](std::string name, absl::Span<const float> values) {
    const auto size = static_cast<int64_t>(values.size());
    return SafetensorsView{std::move(name), {size}, values};
  };
  std::vector<SafetensorsView> tensors = {vector("loss", {&loss, 1}),
                                          vector("inputs", batch.inputs),
                                          vector("labels", labels)};
  for (const ParameterInfo& info : model->parameters()) {
    const int64_t elements = NumElements(info.shape);
    const auto part = [&](const std::vector<float>& all) {
      return absl::MakeConstSpan(all).subspan(info.offset, elements);
    };
    tensors.push_back({info.name, info.shape, part(weights)});
    tensors.push_back(
        {absl::StrCat("gradient of ", info.name), info.shape, part(gradient)});
  }
  return WriteSafetensors(options.dump, tensors, {});
}

Json ToJson(const Options& options, const Report& report,
            const LayerTimes& times) {
  Json json;
  json["model"] = options.model;
  json["batch"] = options.batch;
  json["threads"] = options.threads;
  json["device"] = options.device;
  json["precision"] = PrecisionName(options.precision);
  json["step_ms"] = report.median_ms();
  json["all_step_ms"] = report.step_ms;
  json["first_loss"] = report.first_loss;
  json["last_loss"] = report.last_loss;
  json["parameters"] = report.num_parameters;
  json["activation_bytes"] = report.activation_bytes;
  json["reorders_per_step"] = report.reorders_per_step;
  Json kinds = Json::object();
  for (const LayerTimes::Entry& entry : times.entries()) {
    kinds[entry.kind] = {
        {"forward_ms", Milliseconds(entry.forward) / options.steps},
        {"backward_ms", Milliseconds(entry.backward) / options.steps}};
  }
  kinds["update"] = {{"forward_ms", 0.0}, {"backward_ms", report.update_ms}};
  json["kinds"] = kinds;
  return json;
}

void PrintTable(const Json& json) {
  std::printf(
      "%s, batch %d, %s, %d thread(s), %d parameters: %.1f ms a step "
      "(median)\n",
      json["model"].get<std::string>().c_str(), json["batch"].get<int>(),
      json["device"].get<std::string>().c_str(), json["threads"].get<int>(),
      json["parameters"].get<int>(), json["step_ms"].get<double>());
  std::printf("loss %.4f -> %.4f, %.0f reorders a step, activations %.1f MiB\n",
              json["first_loss"].get<double>(), json["last_loss"].get<double>(),
              json["reorders_per_step"].get<double>(),
              json["activation_bytes"].get<double>() / (1 << 20));
  std::printf("%-16s %12s %12s\n", "kind", "forward ms", "backward ms");
  for (const auto& [kind, times] : json["kinds"].items()) {
    std::printf("%-16s %12.2f %12.2f\n", kind.c_str(),
                times["forward_ms"].get<double>(),
                times["backward_ms"].get<double>());
  }
}

absl::Status Run(int argc, char** argv) {
  PS_ASSIGN_OR_RETURN(const Options options, ParseOptions(argc, argv));
  DeviceOptions device;
  device.device = options.device;
  device.num_threads = options.threads;
  device.precision = options.precision;
  device.deterministic = !options.fastest;
  PS_ASSIGN_OR_RETURN(const ChosenBackend chosen, NewBackend(device));
  Backend* const backend = chosen.backend.get();
  ModelOptions model_options;
  model_options.config.set_name(options.model);
  if (options.hidden > 0) {
    model_options.config.mutable_lstm_lm()->set_hidden(options.hidden);
  }
  if (!options.dump.empty()) {
    model_options.config.mutable_lstm_lm()->set_dropout(0);
  }
  PS_ASSIGN_OR_RETURN(model_options.example, StepExample(options.model));
  model_options.backend = backend;
  model_options.records_steps =
      options.graphs && backend->gains_from_recordings();
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                      NewModel(model_options));
  Batch batch = StepBatch(model_options.example, options.batch);
  if (!options.dump.empty()) {
    return Dump(options, backend, model.get(), batch);
  }
  PS_ASSIGN_OR_RETURN(const Report report,
                      Measure(options, backend, model.get(), &batch));
  const Json json = ToJson(options, report, model->layer_times());
  if (options.json) {
    std::printf("%s\n", JsonText(json, /*indent=*/-1).c_str());
  } else {
    PrintTable(json);
  }
  // This form of the condition fails for NaN, too.
  if (!(report.last_loss < report.first_loss)) {
    return absl::InternalError(
        absl::StrCat("the loss did not fall: ", report.first_loss, ", then ",
                     report.last_loss));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) {
  const absl::Status status = ps::Run(argc, argv);
  if (!status.ok()) {
    std::fprintf(stderr, "training_step_bench: %s\n",
                 status.ToString().c_str());
    return 1;
  }
  return 0;
}
