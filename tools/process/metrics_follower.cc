#include "tools/process/metrics_follower.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "common/json.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

// Sets *target if the object has such a number.
template <typename T>
void Get(const Json& json, const char* name, T* target) {
  const auto it = json.find(name);
  if (it != json.end() && it->is_number()) *target = it->get<T>();
}

}  // namespace

bool MetricsFollower::Poll() {
  if (!file_.is_open()) {
    file_.open(path_);
    if (!file_.is_open()) return false;
  }
  // Clears the end-of-file state of the last read.
  file_.clear();
  // A run that goes on from a snapshot cuts the file.
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path_, error);
  if (!error && size < static_cast<uintmax_t>(file_.tellg())) {
    file_.seekg(0);
    partial_.clear();
  }
  bool any = false;
  std::string text;
  while (std::getline(file_, text)) {
    partial_ += text;
    if (file_.eof()) break;
    Take(partial_);
    partial_.clear();
    any = true;
  }
  return any;
}

void MetricsFollower::Take(const std::string& line) {
  const Json json = ParseJson(line);
  if (!json.is_object()) return;
  Get(json, "total_iterations", &state_.total_iterations);
  Get(json, "iteration", &state_.iteration);
  Get(json, "epoch", &state_.epoch);
  Get(json, "training_loss", &state_.training_loss);
  Get(json, "seconds", &state_.seconds);
  Get(json, "samples_per_second", &state_.samples_per_second);
  Get(json, "achieved_ratio", &state_.achieved_ratio);
  Get(json, "bytes_up", &state_.bytes_up);
  Get(json, "bytes_down", &state_.bytes_down);
}

}  // namespace ps
