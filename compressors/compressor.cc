#include "compressors/compressor.h"

#include "absl/strings/str_cat.h"

namespace ps {

Registry<CompressorPlugin>& CompressorRegistry() {
  static auto* const registry = new Registry<CompressorPlugin>("compressor");
  return *registry;
}

CompressorPlugin FindCompressor(const std::string& name) {
  return CompressorRegistry().Find(name).value_or(CompressorPlugin());
}

bool SharesPositions(const CompressorConfig& config, int num_workers) {
  return num_workers > 1 && FindCompressor(config.name()).shares_positions;
}

void CheckOwnCode(const CompressorConfig& config, const std::string& path,
                  ConfigProblems* problems) {
  if (!FindCompressor(config.name()).writes_own_code) return;
  const CompressorConfig& defaults = CompressorConfig::default_instance();
  const auto check = [&](const std::string& field, const std::string& value,
                         const std::string& unset) {
    if (value == unset) return;
    problems->Add(
        path + field, absl::StrCat("\"", value, "\""),
        absl::StrCat(config.name(), " writes a code of its own; must be \"",
                     unset, "\", the default"));
  };
  check("index_code", config.index_code(), defaults.index_code());
  check("value_code", config.value_code(), defaults.value_code());
  if (!config.error_feedback()) {
    problems->Add(path + "error_feedback", "false",
                  absl::StrCat(config.name(),
                               " needs it: it is biased, and what it loses "
                               "would never be made up for"));
  }
}

}  // namespace ps
