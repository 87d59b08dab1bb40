#include "tools/evaluate/class_names.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text_file.h"

namespace ps {
namespace {

std::string BesideWeights(const EvaluatedJob& job) {
  return std::filesystem::path(job.weights).replace_filename("classes.txt");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadClassNames(
    const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  std::vector<std::string> names;
  for (const absl::string_view line :
       absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    names.emplace_back(absl::StripSuffix(line, "\r"));
    if (!names.back().empty()) continue;
    return absl::DataLossError(absl::StrCat(
        path, ":", names.size(), ": the line is empty; must name a class"));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> KnownClassNames(
    const EvaluatedJob& job) {
  if (!job.classes.empty()) return ReadClassNames(job.classes);
  std::error_code error;
  const std::string path = BesideWeights(job);
  if (!std::filesystem::exists(path, error)) return std::vector<std::string>();
  return ReadClassNames(path);
}

absl::StatusOr<std::vector<std::string>> ClassNamesOf(const EvaluatedJob& job,
                                                      const Dataset& dataset) {
  const int64_t num_classes = dataset.example_shape().num_classes;
  std::vector<std::string> of_data = dataset.class_names();
  PS_ASSIGN_OR_RETURN(std::vector<std::string> known, KnownClassNames(job));
  const std::string file =
      job.classes.empty() ? BesideWeights(job) : job.classes;
  if (!known.empty()) {
    if (static_cast<int64_t>(known.size()) != num_classes) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, " names ", known.size(),
                       " classes; must name one for each of the ", num_classes,
                       " of the data"));
    }
    // Names on the command line may be other words for the same classes.
    if (job.classes.empty() && !of_data.empty() && known != of_data) {
      const auto differ =
          std::mismatch(known.begin(), known.end(), of_data.begin());
      return absl::InvalidArgumentError(absl::StrCat(
          "class ", differ.first - known.begin(), " is \"", *differ.first,
          "\" in ", file, ", with which the weights were trained, and \"",
          *differ.second,
          "\" in the data; the classes of both must have the "
          "same names"));
    }
    return known;
  }
  if (of_data.empty()) {
    for (int64_t i = 0; i < num_classes; ++i) {
      of_data.push_back(absl::StrCat(i));
    }
  }
  return of_data;
}

}  // namespace ps
