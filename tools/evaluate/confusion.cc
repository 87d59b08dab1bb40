#include "tools/evaluate/confusion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/human_format.h"
#include "tools/report/text_table.h"

namespace ps {
namespace {

constexpr size_t kMaxShownPairs = 20;
// Columns of a terminal that names may take; if they are longer, numbers stand
// for them.
constexpr size_t kMaxHeading = 64;

}  // namespace

Confusion::Confusion(std::vector<std::string> class_names)
    : class_names_(std::move(class_names)),
      counts_(class_names_.size() * class_names_.size()) {}

absl::Status Confusion::Add(absl::Span<const int32_t> labels,
                            absl::Span<const float> logits) {
  if (logits.size() != labels.size() * class_names_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(logits.size(), " logits for ", labels.size(),
                     " examples of ", num_classes(), " classes"));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels[i];
    if (label < 0 || label >= num_classes()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "label ", label, "; there are ", num_classes(), " classes"));
    }
    const auto row = logits.begin() + i * num_classes();
    const int64_t predicted = std::max_element(row, row + num_classes()) - row;
    ++counts_[label * num_classes() + predicted];
  }
  return absl::OkStatus();
}

int64_t Confusion::NumExamples(int64_t label) const {
  int64_t sum = 0;
  for (int64_t p = 0; p < num_classes(); ++p) sum += count(label, p);
  return sum;
}

std::string Confusion::RecallText(int64_t label) const {
  const int64_t all = NumExamples(label);
  if (all == 0) return "-";
  return absl::StrFormat("%.1f %%",
                         100 * static_cast<double>(count(label, label)) /
                             static_cast<double>(all));
}

std::string Confusion::Text() const {
  return num_classes() <= kMaxShownClasses ? TableText() : PairsText();
}

std::string Confusion::TableText() const {
  const bool numbered = absl::StrJoin(class_names_, "  ").size() > kMaxHeading;
  TextTable table = {{"class"}};
  for (int64_t label = 0; label < num_classes(); ++label) {
    table[0].push_back(numbered ? absl::StrCat(label) : class_names_[label]);
  }
  table[0].push_back("right");
  for (int64_t label = 0; label < num_classes(); ++label) {
    std::vector<std::string> row = {
        numbered ? absl::StrCat(label, " ", class_names_[label])
                 : class_names_[label]};
    for (int64_t predicted = 0; predicted < num_classes(); ++predicted) {
      const int64_t n = count(label, predicted);
      row.push_back(n == 0 ? "." : FormatCount(n));
    }
    row.push_back(RecallText(label));
    table.push_back(std::move(row));
  }
  return absl::StrCat(
      "Each row has the examples of one class, by the class that the model "
      "took them for:\n",
      FormatTextTable(table));
}

std::string Confusion::PairsText() const {
  struct Pair {
    int64_t count;
    int64_t label;
    int64_t predicted;
  };
  std::vector<Pair> pairs;
  for (int64_t label = 0; label < num_classes(); ++label) {
    for (int64_t predicted = 0; predicted < num_classes(); ++predicted) {
      const int64_t n = count(label, predicted);
      if (label != predicted && n > 0) pairs.push_back({n, label, predicted});
    }
  }
  if (pairs.empty()) return "No class was taken for another one.\n";
  std::stable_sort(
      pairs.begin(), pairs.end(),
      [](const Pair& a, const Pair& b) { return a.count > b.count; });
  TextTable table = {{"class", "taken for", "times", "of", "right"}};
  for (size_t i = 0; i < std::min(pairs.size(), kMaxShownPairs); ++i) {
    const Pair& pair = pairs[i];
    table.push_back({class_names_[pair.label], class_names_[pair.predicted],
                     FormatCount(pair.count),
                     FormatCount(NumExamples(pair.label)),
                     RecallText(pair.label)});
  }
  return absl::StrCat("Of ", num_classes(),
                      " classes, these were confused most often:\n",
                      FormatTextTable(table));
}

void Confusion::AddTo(nlohmann::ordered_json* json) const {
  (*json)["classes"] = class_names_;
  auto& rows = (*json)["confusion"] = nlohmann::ordered_json::array();
  for (auto row = counts_.begin(); row != counts_.end(); row += num_classes()) {
    rows.push_back(std::vector<int64_t>(row, row + num_classes()));
  }
}

}  // namespace ps
