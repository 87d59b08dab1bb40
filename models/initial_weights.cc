#include "models/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "common/safetensors.h"
#include "common/status_macros.h"
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

// A description of what is wrong with the tensor; empty if it matches the
// model's tensor of this name.
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

void CheckPath(const JobConfig& config, ConfigProblems* problems) {
  const std::string& path = config.model().initial_weights();
  if (!path.empty() && !absl::EndsWith(path, ".safetensors")) {
    problems->Add("model.initial_weights", absl::StrCat("\"", path, "\""),
                  "must be a .safetensors file, or empty");
  }
}

[[maybe_unused]] const bool kCheckRegistered = RegisterConfigCheck(CheckPath);

}  // namespace

absl::Status LoadInitialWeights(const std::string& path, const Model& model,
                                absl::Span<float> weights,
                                absl::Span<float> statistics) {
  const int64_t num_weights = static_cast<int64_t>(weights.size());
  const int64_t num_statistics = static_cast<int64_t>(statistics.size());
  if (num_weights != model.num_parameters() ||
      num_statistics != NumElements(model.statistics())) {
    return absl::InvalidArgumentError(
        absl::StrCat("room for ", num_weights, " weights and ", num_statistics,
                     " statistics; the model has ", model.num_parameters(),
                     " and ", NumElements(model.statistics())));
  }
  std::map<std::string, Target> targets;
  for (const ParameterInfo& p : model.parameters()) {
    targets[p.name] = {p.shape, weights.data() + p.offset};
  }
  for (const ParameterInfo& s : model.statistics()) {
    targets[s.name] = {s.shape, statistics.data() + s.offset};
  }

  PS_ASSIGN_OR_RETURN(const Safetensors file, ReadSafetensors(path));
  std::vector<std::string> problems;
  std::map<std::string, Target> missing = targets;
  for (const SafetensorsTensor& tensor : file.tensors) {
    if (IsPassedOver(tensor.name)) continue;
    missing.erase(tensor.name);
    const std::string problem = Problem(tensor, targets);
    if (!problem.empty()) problems.push_back(problem);
  }
  for (const auto& [name, target] : missing) {
    problems.push_back(
        absl::StrCat(name, " ", ShapeString(target.shape), " is missing"));
  }
  if (!problems.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " does not hold the model's weights:\n  ",
                     absl::StrJoin(problems, "\n  ")));
  }
  for (const SafetensorsTensor& tensor : file.tensors) {
    if (IsPassedOver(tensor.name)) continue;
    std::copy(tensor.values.begin(), tensor.values.end(),
              targets.at(tensor.name).begin);
  }
  return absl::OkStatus();
}

}  // namespace ps
