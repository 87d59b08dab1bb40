#include "compressors/combination_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compressors/value_codes/value_codec.h"
#include "glog/logging.h"

namespace ps {
namespace {

std::string VarianceText(double variance) {
  return std::isinf(variance) ? "any number"
                              : absl::StrFormat("%.3g", variance);
}

}  // namespace

void CheckCombination(const CompressorConfig& config, const std::string& path,
                      ConfigProblems* problems) {
  const auto codec = ValueCodecs().Find(config.value_code());
  CHECK(codec.ok()) << codec.status();
  const CodingError error = (*codec)->Error(config.values());
  const bool votes = config.value_code() == "sign" &&
                     config.values().sign_scale() == ValueCodeConfig::ONE;
  const std::string field = path + "error_feedback";
  if (votes && config.name() != "none") {
    problems->Add(path + "name", absl::StrCat("\"", config.name(), "\""),
                  "must be \"none\" with values.sign_scale ONE: every worker "
                  "votes on every element");
  }
  if (votes && config.error_feedback()) {
    problems->Add(field, "true",
                  "must be false with values.sign_scale ONE: a vote has "
                  "nothing to do with how much is left over");
  } else if (!votes && !error.unbiased && !config.error_feedback()) {
    problems->Add(
        field, "false",
        absl::StrCat("value_code \"", config.value_code(),
                     "\" needs it: it is biased, and what it loses would "
                     "never be made up for"));
  } else if (error.variance > 1 && config.error_feedback()) {
    const bool has_bits = !std::isinf(error.variance);
    problems->Add(
        field, "true",
        absl::StrCat("value_code \"", config.value_code(), "\" may lose ",
                     VarianceText(error.variance),
                     " times the square of what it is given, and above 1 the "
                     "residual grows without bound; must be false",
                     has_bits ? ", or take more values.bits or a smaller "
                                "values.bucket_size"
                              : ""));
  }
}

}  // namespace ps
