#include "models/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "common/counted.h"
#include "common/status_macros.h"
#include "formats/safetensors.h"
#include "models/tensor_patterns.h"
#include "proto/config.pb.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The destination of a tensor's values.
struct Target {
  Shape shape;
  float* begin;
};

bool IsPassedOver(const std::string& name) {
  return name == "num_batches_tracked" ||
         absl::EndsWith(name, ".num_batches_tracked");
}

int64_t NumElements(const std::vector<ParameterInfo>& tensors) {
  int64_t n = 0;
  for (const ParameterInfo& tensor : tensors) {
    n += ps::NumElements(tensor.shape);
  }
  return n;
}

// Describes how the tensor differs from the model's tensor of this name; empty
// if it matches.
std::string Problem(const SafetensorsTensor& tensor,
                    const std::map<std::string, Target>& targets) {
  const std::string what =
      absl::StrCat(tensor.name, " ", ShapeString(tensor.shape));
  const auto target = targets.find(tensor.name);
  if (target == targets.end()) {
    return absl::StrCat(what, " is not one of the model's");
  }
  if (tensor.shape != target->second.shape) {
    return absl::StrCat(what, " must have shape ",
                        ShapeString(target->second.shape));
  }
  if (static_cast<int64_t>(tensor.values.size()) !=
      ps::NumElements(tensor.shape)) {
    return absl::StrCat(what, " has dtype ", tensor.dtype,
                        "; must be F32, F16 or BF16");
  }
  const auto bad = std::find_if(tensor.values.begin(), tensor.values.end(),
                                [](float x) { return !std::isfinite(x); });
  if (bad != tensor.values.end()) {
    return absl::StrCat(what, " has ", *bad, " as element ",
                        bad - tensor.values.begin(), "; must be finite");
  }
  return "";
}

// Finds the destinations of the file's tensors, and loads them.
class Loader {
 public:
  Loader(const Model& model, const std::vector<std::string>& ignore,
         absl::Span<float> weights, absl::Span<float> statistics)
      : ignore_(ignore) {
    for (const ParameterInfo& p : model.parameters()) {
      targets_[p.name] = {p.shape, weights.data() + p.offset};
    }
    const LayersConfig layers = model.Describe();
    for (const LayerConfig& layer : layers.layer()) {
      if (!layer.has_convolution()) continue;
      if (layer.convolution().groups() == 1) {
        first_convolution_ = layer.name() + ".weight";
      }
      break;
    }
    for (const ParameterInfo& s : model.statistics()) {
      targets_[s.name] = {s.shape, statistics.data() + s.offset};
    }
  }

  // Compares all names and shapes.
  absl::Status Check(const Safetensors& file) {
    std::map<std::string, Target> missing = targets_;
    for (const auto& [name, target] : targets_) names_.insert(name);
    for (const SafetensorsTensor& tensor : file.tensors) {
      if (IsPassedOver(tensor.name)) continue;
      names_.insert(tensor.name);
      missing.erase(tensor.name);
      AddProblem(tensor.name,
                 Problem(tensor, targets_) + OtherChannels(tensor));
    }
    for (const auto& [name, target] : missing) {
      AddProblem(name, absl::StrCat(name, " ", ShapeString(target.shape),
                                    " is missing"));
    }
    PS_RETURN_IF_ERROR(CheckPatterns("model.ignore", ignore_,
                                     "the model or of the file", names_));
    const bool loads_some = std::any_of(
        targets_.begin(), targets_.end(),
        [&](const auto& target) { return !MatchesAny(target.first, ignore_); });
    if (loads_some) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "model.ignore leaves no tensor of the model to load");
  }

  // One message for each tensor that cannot be loaded.
  const std::vector<std::string>& problems() const { return problems_; }

  // Returns the patterns that would leave these tensors out.
  std::vector<std::string> Suggestions() const {
    return PatternsFor(bad_, names_);
  }

  // Loads a file that has been checked, and has no problems.
  void Load(const Safetensors& file) const {
    for (const SafetensorsTensor& tensor : file.tensors) {
      if (IsPassedOver(tensor.name) || MatchesAny(tensor.name, ignore_)) {
        continue;
      }
      std::copy(tensor.values.begin(), tensor.values.end(),
                targets_.at(tensor.name).begin);
    }
  }

 private:
  // Explains a mismatch of the first convolution's weight if only the number of
  // channels of the images differs.
  std::string OtherChannels(const SafetensorsTensor& tensor) const {
    const auto target = targets_.find(tensor.name);
    if (tensor.name != first_convolution_ || tensor.shape.size() != 4 ||
        target == targets_.end()) {
      return "";
    }
    Shape expected = target->second.shape;
    const int64_t channels = std::exchange(expected[1], tensor.shape[1]);
    if (expected != tensor.shape || channels == tensor.shape[1]) return "";
    return absl::StrCat(": this data has ", Counted(channels, "channel"),
                        ", and these weights are for images of ",
                        Counted(tensor.shape[1], "channel"));
  }

  void AddProblem(const std::string& name, const std::string& problem) {
    if (problem.empty() || MatchesAny(name, ignore_)) return;
    problems_.push_back(problem);
    bad_.insert(name);
  }

  const std::vector<std::string> ignore_;
  std::map<std::string, Target> targets_;
  // Empty if no convolution takes the images unchanged.
  std::string first_convolution_;
  std::set<std::string> names_;  // The model's tensors and the file's.
  std::vector<std::string> problems_;
  std::set<std::string> bad_;  // The tensors that have problems.
};

absl::Status CheckRoom(const Model& model, absl::Span<float> weights,
                       absl::Span<float> statistics) {
  const int64_t num_weights = static_cast<int64_t>(weights.size());
  const int64_t num_statistics = static_cast<int64_t>(statistics.size());
  if (num_weights == model.num_parameters() &&
      num_statistics == NumElements(model.statistics())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("room for ", num_weights, " weights and ", num_statistics,
                   " statistics; the model has ", model.num_parameters(),
                   " and ", NumElements(model.statistics())));
}

std::string ProblemsText(const std::string& path, const Loader& loader) {
  return absl::StrCat(path, " does not hold the model's weights:\n  ",
                      absl::StrJoin(loader.problems(), "\n  "));
}

void CheckPath(const JobConfig& config, ConfigProblems* problems) {
  const std::string& path = config.model().initial_weights();
  if (!path.empty() && !absl::EndsWith(path, ".safetensors")) {
    problems->Add("model.initial_weights", absl::StrCat("\"", path, "\""),
                  "must be a .safetensors file, as PyTorch's users write with "
                  "safetensors.torch.save_file, or empty");
  }
  if (path.empty() && config.model().ignore_size() > 0) {
    problems->Add("model.ignore",
                  absl::StrCat("\"", config.model().ignore(0), "\""),
                  "must be empty without model.initial_weights");
  }
}

[[maybe_unused]] const bool kCheckRegistered = RegisterConfigCheck(CheckPath);

}  // namespace

absl::Status LoadInitialWeights(const std::string& path, const Model& model,
                                absl::Span<float> weights,
                                absl::Span<float> statistics,
                                SafetensorsMetadata* metadata) {
  PS_RETURN_IF_ERROR(CheckRoom(model, weights, statistics));
  PS_ASSIGN_OR_RETURN(Safetensors file, ReadSafetensors(path));
  Loader loader(model, {}, weights, statistics);
  PS_RETURN_IF_ERROR(loader.Check(file));
  if (!loader.problems().empty()) {
    return absl::InvalidArgumentError(ProblemsText(path, loader));
  }
  loader.Load(file);
  if (metadata != nullptr) *metadata = std::move(file.metadata);
  return absl::OkStatus();
}

absl::Status LoadSomeWeights(const std::string& path, const Model& model,
                             const std::vector<std::string>& ignore,
                             absl::Span<float> weights,
                             absl::Span<float> statistics) {
  PS_RETURN_IF_ERROR(CheckRoom(model, weights, statistics));
  PS_ASSIGN_OR_RETURN(const Safetensors file, ReadSafetensors(path));
  Loader loader(model, ignore, weights, statistics);
  PS_RETURN_IF_ERROR(Annotate(loader.Check(file), path));
  if (!loader.problems().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        ProblemsText(path, loader),
        "\nTo start with these tensors as without a file: model { ignore: \"",
        absl::StrJoin(loader.Suggestions(), "\" ignore: \""), "\" }"));
  }
  loader.Load(file);
  return absl::OkStatus();
}

}  // namespace ps
