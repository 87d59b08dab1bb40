#include "tools/process/metrics_follower.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/time/time.h"
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
  Get(json, "total_iterations", &progress_.total_iterations);
  Get(json, "iteration", &progress_.iteration);
  Get(json, "epoch", &progress_.epoch);
  if (json.contains("training_loss")) {
    // What is no number is null in the file.
    progress_.loss = std::numeric_limits<double>::quiet_NaN();
    Get(json, "training_loss", &progress_.loss);
  }
  Get(json, "seconds", &seconds_);
  Get(json, "samples_per_second", &progress_.samples_per_second);
  Get(json, "achieved_ratio", &progress_.achieved_ratio);
  Get(json, "bytes_up", &progress_.bytes_up);
  Get(json, "bytes_down", &progress_.bytes_down);
  progress_.eta = EstimateRemaining(
      progress_.iteration, progress_.total_iterations, absl::Seconds(seconds_));
}

}  // namespace ps
