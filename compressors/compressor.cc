#include "compressors/compressor.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

std::set<std::string>& NamesWithOwnCode() {
  static auto* const names = new std::set<std::string>;
  return *names;
}

std::set<std::string>& NamesWithoutTargetRatio() {
  static auto* const names = new std::set<std::string>;
  return *names;
}

}  // namespace

Registry<CompressorFactory>& CompressorRegistry() {
  static auto* const registry = new Registry<CompressorFactory>("compressor");
  return *registry;
}

bool WritesOwnCode(const std::string& name) {
  return NamesWithOwnCode().count(name) > 0;
}

void CheckOwnCode(const CompressorConfig& config, const std::string& path,
                  ConfigProblems* problems) {
  if (!WritesOwnCode(config.name())) return;
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

bool RegisterOwnCode(const std::string& name) {
  return NamesWithOwnCode().insert(name).second;
}

bool HasTargetRatio(const std::string& name) {
  return !WritesOwnCode(name) && NamesWithoutTargetRatio().count(name) == 0;
}

bool RegisterWithoutTargetRatio(const std::string& name) {
  return NamesWithoutTargetRatio().insert(name).second;
}

}  // namespace ps
