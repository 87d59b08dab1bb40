#include "tools/evaluate/predictions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/json.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::vector<ClassProbability> TopClasses(absl::Span<const float> logits,
                                         int64_t count) {
  // Not a number: the network has overflowed. Sorting needs an order.
  const auto key = [&](int64_t i) {
    return std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity()
                                 : logits[i];
  };
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](int64_t a, int64_t b) {
                      return key(a) != key(b) ? key(a) > key(b) : a < b;
                    });
  // Subtracting the maximum keeps exp from overflowing.
  const double max = logits[order[0]];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - max);
  std::vector<ClassProbability> top;
  for (int64_t i = 0; i < count; ++i) {
    top.push_back({order[i], std::exp(logits[order[i]] - max) / sum});
  }
  return top;
}

std::string CsvHeader(int64_t num_classes, bool has_labels) {
  std::string line =
      absl::StrCat("file,", has_labels ? "label," : "", "class,probability");
  for (int64_t i = 2; i <= num_classes; ++i) {
    absl::StrAppend(&line, ",class_", i, ",probability_", i);
  }
  return line + "\n";
}

std::string CsvLine(const Prediction& prediction) {
  std::string line = CsvField(prediction.file);
  if (!prediction.label.empty()) {
    absl::StrAppend(&line, ",", CsvField(prediction.label));
  }
  for (const NamedProbability& each : prediction.classes) {
    absl::StrAppendFormat(&line, ",%s,%.6g", CsvField(each.name),
                          each.probability);
  }
  return line + "\n";
}

std::string JsonLine(const Prediction& prediction) {
  Json json;
  json["file"] = prediction.file;
  if (!prediction.label.empty()) json["label"] = prediction.label;
  json["class"] = prediction.classes[0].name;
  json["probability"] = prediction.classes[0].probability;
  Json& top = json["top"] = Json::array();
  for (const NamedProbability& each : prediction.classes) {
    top.push_back({{"class", each.name}, {"probability", each.probability}});
  }
  return JsonText(json, /*indent=*/-1) + "\n";
}

}  // namespace ps
