// Implements the data set "labelled_text": classified texts in train.tsv and
// test.tsv, one on a line: the class, a tab, the text.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/config_check.h"
#include "common/counted.h"
#include "common/status_macros.h"
#include "common/text_file.h"
#include "data/config_rules.h"
#include "data/dataset.h"
#include "data/held_out.h"

namespace ps {
namespace {

constexpr int32_t kNoWord = 0;
constexpr int32_t kRareWord = 1;

struct Text {
  std::string name;  // "train.tsv line 3"
  std::string label;
  std::vector<std::string> words;  // The first `steps` words.
};

bool IsPartOfWord(char c) {
  return absl::ascii_isalnum(c) || c == '\'' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Returns the first `limit` words of `text`; *longer is set if there are more.
std::vector<std::string> WordsOf(absl::string_view text, size_t limit,
                                 bool* longer) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    if (absl::ascii_isspace(text[begin]) || absl::ascii_iscntrl(text[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (IsPartOfWord(text[begin]) && end < text.size() &&
           IsPartOfWord(text[end])) {
      ++end;
    }
    if (words.size() == limit) {
      *longer = true;
      break;
    }
    words.push_back(absl::AsciiStrToLower(text.substr(begin, end - begin)));
    begin = end;
  }
  return words;
}

absl::StatusOr<std::vector<Text>> ReadTexts(const std::string& directory,
                                            const std::string& file,
                                            size_t steps,
                                            std::vector<std::string>* notes) {
  const std::string path = absl::StrCat(directory, "/", file);
  PS_ASSIGN_OR_RETURN(const std::string contents, ReadRegularText(path));
  std::vector<Text> texts;
  int64_t num_longer = 0, number = 0;
  for (const absl::string_view line : absl::StrSplit(contents, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const size_t tab = line.find('\t');
    const auto wrong = [&](const std::string& what) {
      return absl::DataLossError(
          absl::StrCat(path, " line ", number, ": ", what,
                       "; each line must have a class, a tab and a text"));
    };
    if (tab == absl::string_view::npos) return wrong("it has no tab");
    Text text;
    text.name = absl::StrCat(file, " line ", number);
    text.label = std::string(absl::StripAsciiWhitespace(line.substr(0, tab)));
    if (text.label.empty()) return wrong("there is no class before the tab");
    bool longer = false;
    text.words = WordsOf(line.substr(tab + 1), steps, &longer);
    if (text.words.empty()) return wrong("there is no word after the tab");
    num_longer += longer;
    texts.push_back(std::move(text));
  }
  if (texts.empty()) {
    return absl::DataLossError(absl::StrCat(path, " has no text"));
  }
  if (num_longer > 0) {
    notes->push_back(absl::StrCat(
        Counted(num_longer, "text"), " of ", path, " (of ", texts.size(),
        ") have more than data.labelled_text.steps = ", steps,
        " words, and the others are not read"));
  }
  return texts;
}

// Returns the words with numbers of their own, from kRareWord + 1: the most
// frequent first; words of equal frequency in order of first occurrence.
std::vector<std::string> FrequentWords(const std::vector<Text>& texts,
                                       size_t limit) {
  std::vector<std::pair<absl::string_view, int64_t>> counted;
  absl::flat_hash_map<absl::string_view, size_t> places;
  for (const Text& text : texts) {
    for (const std::string& word : text.words) {
      const auto place = places.emplace(word, counted.size());
      if (place.second) counted.push_back({word, 0});
      ++counted[place.first->second].second;
    }
  }
  std::stable_sort(
      counted.begin(), counted.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [word, count] : counted) {
    if (words.size() == limit) break;
    words.emplace_back(word);
  }
  return words;
}

using Numbers = absl::flat_hash_map<std::string, int32_t>;

Numbers NumbersOf(const std::vector<std::string>& names, int32_t first) {
  Numbers numbers;
  for (const std::string& name : names) {
    numbers.emplace(name, first + static_cast<int32_t>(numbers.size()));
  }
  return numbers;
}

class LabelledTexts final : public Dataset {
 public:
  LabelledTexts(const ExampleShape& shape, std::vector<std::string> classes)
      : shape_(shape), classes_(std::move(classes)) {}

  // Appends texts. Errors: kDataLoss for a class that is not in `classes`.
  absl::Status Add(const std::vector<Text>& texts, const Numbers& classes,
                   const Numbers& words, DataDescription* description,
                   const std::string& part) {
    for (const Text& text : texts) {
      const auto label = classes.find(text.label);
      if (label == classes.end()) {
        return absl::DataLossError(
            absl::StrCat(text.name, ": no training text has the class \"",
                         text.label, "\""));
      }
      labels_.push_back(label->second);
      names_.push_back(text.name);
      std::vector<int32_t> numbers(shape_.steps - text.words.size(), kNoWord);
      for (const std::string& word : text.words) {
        const auto number = words.find(word);
        numbers.push_back(number == words.end() ? kRareWord : number->second);
      }
      tokens_.insert(tokens_.end(), numbers.begin(), numbers.end());
    }
    const auto digest = [&](const char* what, const std::vector<int32_t>& of) {
      description->AddDigest(
          absl::StrCat(part, what),
          absl::string_view(reinterpret_cast<const char*>(of.data()),
                            of.size() * sizeof(of[0])));
    };
    digest(" words", tokens_);
    digest(" labels", labels_);
    return absl::OkStatus();
  }

  ExampleShape example_shape() const override { return shape_; }
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::string example_name(int64_t number) const override {
    return names_[number];
  }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t,
                    Batch* batch) const override {
    const size_t size = numbers.size();
    batch->inputs.resize(shape_.steps * size);
    batch->labels.resize(size);
    batch->steps = 0;
    for (size_t i = 0; i < size; ++i) {
      const int32_t* const tokens = &tokens_[numbers[i] * shape_.steps];
      for (int64_t t = 0; t < shape_.steps; ++t) {
        batch->inputs[t * size + i] = static_cast<float>(tokens[t]);
      }
      batch->labels[i] = labels_[numbers[i]];
    }
    return absl::OkStatus();
  }

 private:
  const ExampleShape shape_;
  const std::vector<std::string> classes_;
  std::vector<int32_t> tokens_;  // [size, steps]
  std::vector<int32_t> labels_;
  std::vector<std::string> names_;
};

absl::StatusOr<std::vector<Text>> TestTexts(const DatasetOptions& options,
                                            size_t steps,
                                            std::vector<Text>* train,
                                            std::vector<std::string>* notes) {
  const std::string& directory = options.config.directory();
  const double held_out = options.config.validation_fraction();
  auto test = ReadTexts(directory, "test.tsv", steps, notes);
  if (!absl::IsNotFound(test.status())) {
    if (held_out == 0 || !test.ok()) return test;
    return absl::InvalidArgumentError(absl::StrCat(
        "data.validation_fraction is ", held_out,
        "; must be 0, because there is a test set: ", directory, "/test.tsv"));
  }
  if (held_out > 0) return HoldOut(options, train);
  return absl::NotFoundError(absl::StrCat(
      "data.directory ", directory,
      " has no test.tsv beside train.tsv; it needs one, or "
      "data.validation_fraction=0.1, which holds a tenth of the texts out of "
      "training"));
}

void CheckLabelledText(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "labelled_text", "train.tsv and test.tsv",
                   /*generated=*/"", problems);
}

absl::StatusOr<DatasetPair> NewLabelledText(const DatasetOptions& options) {
  PS_RETURN_IF_ERROR(FirstProblem(options.config, CheckLabelledText));
  const LabelledTextConfig& config = options.config.labelled_text();
  const auto steps = static_cast<size_t>(config.steps());
  DatasetPair pair;
  PS_ASSIGN_OR_RETURN(
      std::vector<Text> train,
      ReadTexts(options.config.directory(), "train.tsv", steps, &pair.notes));
  PS_ASSIGN_OR_RETURN(const std::vector<Text> test,
                      TestTexts(options, steps, &train, &pair.notes));
  std::vector<std::string> classes;
  for (const Text& text : train) classes.push_back(text.label);
  if (options.config.validation_fraction() > 0) {
    // Chance may have held out all texts of a class.
    for (const Text& text : test) classes.push_back(text.label);
  }
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  const std::vector<std::string> words =
      FrequentWords(train, config.vocabulary() - kRareWord - 1);

  ExampleShape shape;
  shape.task = Task::kTexts;
  shape.steps = config.steps();
  shape.num_classes = static_cast<int64_t>(classes.size());
  shape.vocabulary = kRareWord + 1 + static_cast<int64_t>(words.size());
  pair.description.AddList("word", words);
  const Numbers class_numbers = NumbersOf(classes, 0);
  const Numbers word_numbers = NumbersOf(words, kRareWord + 1);
  const auto add =
      [&](const std::vector<Text>& texts,
          const std::string& part) -> absl::StatusOr<std::unique_ptr<Dataset>> {
    auto set = std::make_unique<LabelledTexts>(shape, classes);
    PS_RETURN_IF_ERROR(
        set->Add(texts, class_numbers, word_numbers, &pair.description, part));
    return std::unique_ptr<Dataset>(std::move(set));
  };
  PS_ASSIGN_OR_RETURN(pair.train, add(train, "training"));
  PS_ASSIGN_OR_RETURN(pair.test, add(test, "test"));
  return pair;
}

REGISTER_DATASET("labelled_text",
                 "texts of your own with a class each, from data.directory",
                 NewLabelledText);
const bool kLabelledTextCheckRegistered =
    RegisterConfigCheck(CheckLabelledText);

}  // namespace
}  // namespace ps
