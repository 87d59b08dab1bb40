#include "common/data_description.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/json.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

constexpr size_t kMaxListBytes = size_t{1} << 14;
// These limit the length of a message.
constexpr size_t kMaxDifferences = 3;
constexpr size_t kMaxShownBytes = 120;

std::string Digest(absl::string_view bytes) {
  return absl::StrCat(
      "digest ", absl::Hex(uint64_t{XXH3_64bits(bytes.data(), bytes.size())},
                           absl::kZeroPad16));
}

std::string Shown(absl::string_view text) {
  if (text.size() <= kMaxShownBytes) return std::string(text);
  size_t end = kMaxShownBytes;
  // The cut must not split a character.
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

using Line = std::pair<absl::string_view, absl::string_view>;

std::vector<Line> LinesOf(absl::string_view text) {
  std::vector<Line> lines;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const Line split = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    lines.push_back(split);
  }
  return lines;
}

}  // namespace

void DataDescription::Add(absl::string_view name, absl::string_view value) {
  absl::StrAppend(&text_, name, ": ", value, "\n");
}

void DataDescription::AddDigest(absl::string_view name,
                                absl::string_view bytes) {
  Add(name, Digest(bytes));
}

void DataDescription::AddList(absl::string_view name,
                              const std::vector<std::string>& items) {
  const size_t end = text_.size() + kMaxListBytes;
  for (size_t i = 0; i < items.size(); ++i) {
    const size_t before = text_.size();
    // The quotes make it printable UTF-8.
    const Json item(items[i]);
    std::string text = JsonText(item, /*indent=*/-1);
    if (HasControlCharacters(text)) {
      text = JsonText(item, /*indent=*/-1, /*ensure_ascii=*/true);
    }
    Add(absl::StrCat(name, " ", i), text);
    if (text_.size() <= end) continue;
    text_.resize(before);
    break;
  }
  std::string all;
  for (const std::string& item : items) {
    all += item;
    all += '\0';
  }
  Add(absl::StrCat("all of ", name),
      absl::StrCat(items.size(), ", ", Digest(all)));
}

std::string MeaningOfNumbers(absl::string_view description) {
  // Lines that begin with one of these words are skipped.
  static const auto& kNoMeaning = *new std::set<absl::string_view>{
      "training", "test", "classes", "class", "image", "frozen"};
  DataDescription meaning;
  for (const auto& [line, value] : LinesOf(description)) {
    absl::string_view name = line;
    absl::ConsumePrefix(&name, "all of ");
    const absl::string_view first = name.substr(0, name.find(' '));
    if (kNoMeaning.count(first) > 0) continue;
    meaning.Add(line, value);
  }
  return meaning.text();
}

bool HasControlCharacters(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_iscntrl(text[i])) return true;
    const bool c1 = text[i] == '\xc2' && i + 1 < text.size() &&
                    static_cast<uint8_t>(text[i + 1]) < 0xa0;
    if (c1) return true;
  }
  return false;
}

std::string DescribeDataDifference(absl::string_view here,
                                   absl::string_view there) {
  if (here == there) return "";
  const std::vector<Line> ours = LinesOf(here);
  const std::vector<Line> theirs = LinesOf(there);
  const std::map<absl::string_view, absl::string_view> our_values(ours.begin(),
                                                                  ours.end());
  const std::map<absl::string_view, absl::string_view> their_values(
      theirs.begin(), theirs.end());
  std::vector<std::string> differences;
  const auto compare = [&](absl::string_view name) {
    const auto value = [&](const auto& values) {
      const auto found = values.find(name);
      return found == values.end() ? "nothing" : found->second;
    };
    if (value(our_values) == value(their_values)) return;
    differences.push_back(
        absl::StrCat(Shown(name), ": ", Shown(value(their_values)),
                     " there and ", Shown(value(our_values)), " here"));
  };
  for (const Line& line : ours) compare(line.first);
  for (const Line& line : theirs) {
    if (our_values.count(line.first) == 0) compare(line.first);
  }
  if (differences.empty()) return "their lines have another order";
  const size_t more =
      differences.size() - std::min(differences.size(), kMaxDifferences);
  differences.resize(differences.size() - more);
  return absl::StrCat(absl::StrJoin(differences, "; "),
                      more > 0 ? absl::StrCat("; and ", more, " more") : "");
}

}  // namespace ps
