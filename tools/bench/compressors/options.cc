#include "tools/bench/compressors/options.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/nearest_word.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "tools/command_line/compressor_argument.h"

namespace ps {
namespace {

// The entries of a list that must not be empty.
absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view option,
                                                 absl::string_view text,
                                                 absl::string_view rule,
                                                 bool (*accept)(double)) {
  std::vector<double> numbers;
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    double number = 0;
    if (!absl::SimpleAtod(entry, &number) || !accept(number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", option, " has \"", entry, "\"; must be ", rule,
                       ", separated by commas"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::Status CheckKnown(absl::string_view what, const std::string& name,
                        const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return absl::OkStatus();
  }
  const std::string nearest = NearestWord(name, known);
  return absl::InvalidArgumentError(absl::StrCat(
      "--names: there is no ", what, " \"", name, "\"; ",
      nearest.empty() ? absl::StrCat("known are: ", absl::StrJoin(known, ", "))
                      : absl::StrCat("did you mean \"", nearest, "\"?")));
}

// Compressor, and value code or nothing.
std::vector<std::string> Parts(absl::string_view name) {
  return absl::StrSplit(name, absl::MaxSplits('+', 1));
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ParseSizes(absl::string_view text) {
  PS_ASSIGN_OR_RETURN(
      const std::vector<double> numbers,
      ParseNumbers("sizes", text, "whole numbers from 1 to 4294967295",
                   [](double number) {
                     return number >= 1 &&
                            number <= static_cast<double>(kMaxDenseSize) &&
                            number == std::floor(number);
                   }));
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

absl::StatusOr<std::vector<double>> ParseRatios(absl::string_view text) {
  return ParseNumbers("ratios", text, "numbers in (0, 1]",
                      [](double number) { return number > 0 && number <= 1; });
}

absl::StatusOr<std::vector<std::string>> ParseNames(absl::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) {
    for (const std::string& name : CompressorRegistry().Names()) {
      if (!NeedsTensorShapes(name)) names.push_back(name);
    }
    return names;
  }
  names = absl::StrSplit(text, ',');
  for (const std::string& name : names) {
    const std::vector<std::string> parts = Parts(name);
    PS_RETURN_IF_ERROR(
        CheckKnown("compressor", parts[0], CompressorRegistry().Names()));
    if (parts.size() > 1) {
      PS_RETURN_IF_ERROR(CheckKnown("value code", parts[1], ValueCodeNames()));
    }
  }
  return names;
}

absl::StatusOr<CompressorConfig> BenchConfig(const std::string& name,
                                             double ratio) {
  const std::vector<std::string> parts = Parts(name);
  CompressorConfig config;
  config.set_name(parts[0]);
  config.set_ratio(ratio);
  if (parts.size() > 1) config.set_value_code(parts[1]);
  // P(|x| > t) = exp(-t).
  config.mutable_threshold()->set_threshold(-std::log(ratio));
  PS_RETURN_IF_ERROR(Annotate(ValidateCompressorConfig(config), name));
  return config;
}

}  // namespace ps
