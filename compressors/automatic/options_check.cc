#include "compressors/automatic/options_check.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compressors/compressor.h"

namespace ps {
namespace {

// Returns the compressors with a target ratio that write no code of their own.
// Those whose workers share positions need more than a worker's own choice.
std::vector<std::string> Choices() {
  std::vector<std::string> names;
  for (const std::string& name : CompressorRegistry().Names()) {
    const CompressorPlugin plugin = FindCompressor(name);
    if (plugin.has_target_ratio && !plugin.chooses_by_time &&
        !plugin.shares_positions) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace

void CheckAutoOptions(const CompressorConfig& config, const std::string& path,
                      ConfigProblems* problems) {
  if (config.name() != "auto") return;
  const std::string& name = config.auto_().compressor();
  const std::vector<std::string> choices = Choices();
  if (std::find(choices.begin(), choices.end(), name) == choices.end()) {
    problems->Add(path + "auto.compressor", absl::StrCat("\"", name, "\""),
                  absl::StrCat("must be one that has a ratio: ",
                               absl::StrJoin(choices, ", ")));
  }
}

}  // namespace ps
