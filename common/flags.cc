#include "common/flags.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/exit_codes.h"
#include "common/nearest_word.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace ps {
namespace {

constexpr size_t kHelpColumns = 80;
constexpr size_t kTermIndent = 2;
// A longer term gets a line of its own.
constexpr size_t kMaxTermColumns = 26;

absl::Status WrongValue(const std::string& name, absl::string_view value,
                        absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, " is \"", value, "\"; must be ", expected));
}

// Appends `text`, broken between words, and ends the line. The cursor is at
// `column`; further lines start at `indent`.
void AppendWrapped(absl::string_view text, size_t column, size_t indent,
                   std::string* out) {
  bool line_is_empty = true;
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line_is_empty && column + 1 + word.size() > kHelpColumns) {
      absl::StrAppend(out, "\n", std::string(indent, ' '));
      column = indent;
      line_is_empty = true;
    }
    absl::StrAppend(out, line_is_empty ? "" : " ", word);
    column += word.size() + (line_is_empty ? 0 : 1);
    line_is_empty = false;
  }
  absl::StrAppend(out, "\n");
}

// Appends "title:" and below it the entries, with their meanings in one column.
void AppendEntries(absl::string_view title,
                   const std::vector<HelpEntry>& entries, std::string* out) {
  if (entries.empty()) return;
  size_t term_columns = 0;
  for (const HelpEntry& entry : entries) {
    if (entry.term.size() > kMaxTermColumns) continue;
    term_columns = std::max(term_columns, entry.term.size());
  }
  // Two spaces separate term and meaning.
  const size_t indent = kTermIndent + term_columns + 2;
  absl::StrAppend(out, "\n", title, ":\n");
  for (const HelpEntry& entry : entries) {
    absl::StrAppend(out, std::string(kTermIndent, ' '), entry.term);
    if (entry.term.size() > term_columns) {
      absl::StrAppend(out, "\n", std::string(indent, ' '));
    } else {
      out->append(indent - kTermIndent - entry.term.size(), ' ');
    }
    AppendWrapped(entry.meaning, indent, indent, out);
  }
}

}  // namespace

std::string DescribedWord(const std::string& program, const std::string& kind,
                          const std::string& word,
                          const std::string& value_name,
                          const std::string& meaning) {
  return absl::StrCat(
      absl::StrJoin({program, kind, word, value_name, meaning}, "\t"), "\n");
}

CommandLine::CommandLine(CommandText text) : text_(std::move(text)) {}

CommandLine::Option& CommandLine::Declare(const std::string& name,
                                          const std::string& value_name,
                                          const std::string& help) {
  Option option;
  option.name = name;
  option.value_name = value_name;
  option.help = help;
  options_.push_back(std::move(option));
  return options_.back();
}

void CommandLine::AddOption(const std::string& name,
                            const std::string& value_name,
                            const std::string& help, std::string* target) {
  Option& option = Declare(name, value_name, help);
  option.default_text = *target;
  option.set = [target](absl::string_view value) {
    *target = std::string(value);
    return absl::OkStatus();
  };
}

void CommandLine::AddOption(const std::string& name,
                            const std::string& value_name,
                            const std::string& help, int* target) {
  Option& option = Declare(name, value_name, help);
  option.default_text = absl::StrCat(*target);
  option.set = [target, name](absl::string_view value) {
    return absl::SimpleAtoi(value, target)
               ? absl::OkStatus()
               : WrongValue(name, value, "a whole number of at most 32 bits");
  };
}

void CommandLine::AddOption(const std::string& name,
                            const std::string& value_name,
                            const std::string& help, int64_t* target) {
  Option& option = Declare(name, value_name, help);
  option.default_text = absl::StrCat(*target);
  option.set = [target, name](absl::string_view value) {
    return absl::SimpleAtoi(value, target)
               ? absl::OkStatus()
               : WrongValue(name, value, "a whole number");
  };
}

void CommandLine::AddOption(const std::string& name,
                            const std::string& value_name,
                            const std::string& help, double* target) {
  Option& option = Declare(name, value_name, help);
  option.default_text = absl::StrCat(*target);
  option.set = [target, name](absl::string_view value) {
    return absl::SimpleAtod(value, target)
               ? absl::OkStatus()
               : WrongValue(name, value, "a number");
  };
}

void CommandLine::AddOption(const std::string& name,
                            const std::string& value_name,
                            const std::string& help,
                            std::vector<std::string>* target) {
  Option& option = Declare(name, value_name, help);
  option.repeatable = true;
  option.set = [target](absl::string_view value) {
    target->emplace_back(value);
    return absl::OkStatus();
  };
}

void CommandLine::AddOptionalValue(const std::string& name,
                                   const std::string& value_name,
                                   const std::string& help,
                                   const std::string& value_alone,
                                   std::string* target) {
  AddOption(name, value_name, help, target);
  options_.back().value_alone = value_alone;
}

void CommandLine::AddSwitch(const std::string& name, const std::string& help,
                            bool* target) {
  Option& option = Declare(name, /*value_name=*/"", help);
  option.set = [target](absl::string_view) {
    *target = true;
    return absl::OkStatus();
  };
}

void CommandLine::AddArgument(const std::string& name, const std::string& help,
                              std::string* target) {
  arguments_.push_back({{name, help}, target});
}

void CommandLine::AddMoreArguments(const std::string& name,
                                   const std::string& help,
                                   std::vector<std::string>* target) {
  more_help_ = {absl::StrCat("[", name, "...]"), help};
  more_ = target;
}

void CommandLine::AddCommand(const std::string& name, const std::string& help,
                             std::vector<std::string>* target) {
  command_help_ = {absl::StrCat("[-- ", name, "...]"), help};
  command_ = target;
}

absl::StatusOr<ParseResult> CommandLine::Parse(int argc,
                                               const char* const* argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1),
                                           argv + argc);
  // Help comes first: a user who asks for it may well have an error elsewhere.
  const auto options_end =
      std::find(arguments.begin(), arguments.end(), std::string("--"));
  for (auto it = arguments.begin(); it != options_end; ++it) {
    if (*it == "--help" || *it == "-h") return ParseResult::kHelp;
    if (*it == "--version") return ParseResult::kVersion;
  }
  arguments_given_ = 0;
  for (Option& option : options_) option.given = false;
  bool only_arguments = false;
  for (size_t next = 0; next < arguments.size(); ++next) {
    const std::string& argument = arguments[next];
    if (!only_arguments && argument == "--" && command_ != nullptr) {
      command_->assign(arguments.begin() + static_cast<int64_t>(next) + 1,
                       arguments.end());
      break;
    }
    if (!only_arguments && argument == "--") {
      only_arguments = true;
    } else if (!only_arguments && argument.size() > 1 && argument[0] == '-') {
      PS_RETURN_IF_ERROR(ParseOption(arguments, &next));
    } else {
      PS_RETURN_IF_ERROR(ParseArgument(argument));
    }
  }
  PS_RETURN_IF_ERROR(CheckComplete());
  return ParseResult::kRun;
}

absl::Status CommandLine::ParseOption(const std::vector<std::string>& arguments,
                                      size_t* next) {
  const std::string& argument = arguments[*next];
  const std::string name = argument.substr(0, argument.find('='));
  const auto option = std::find_if(
      options_.begin(), options_.end(), [&name](const Option& option) {
        return name == absl::StrCat("--", option.name);
      });
  if (option == options_.end()) {
    return FailUnknownOption(argument);
  }
  if (option->given && !option->repeatable) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is given twice"));
  }
  option->given = true;
  const bool has_value = name.size() < argument.size();
  if (option->value_name.empty()) {
    if (has_value) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " takes no value, but got ", argument));
    }
    return option->set("");
  }
  if (has_value) return option->set(argument.substr(name.size() + 1));
  if (!option->value_alone.empty()) return option->set(option->value_alone);
  // If another option follows in place of the value, the value was forgotten.
  if (*next + 1 == arguments.size() ||
      absl::StartsWith(arguments[*next + 1], "--")) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " needs a value: ", name, "=", option->value_name));
  }
  return option->set(arguments[++*next]);
}

absl::Status CommandLine::FailUnknownOption(const std::string& argument) const {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> known = {"--help", "--version"};
  for (const Option& other : options_) {
    known.push_back(absl::StrCat("--", other.name));
  }
  std::string meant = NearestWord(name, known);
  if (find_field_ != nullptr) {
    const std::string word = absl::StrReplaceAll(
        absl::StripPrefix(absl::StripPrefix(name, "-"), "-"), {{"-", "_"}});
    const std::string field = find_field_(word);
    // A field of that name is meant rather than an option of a similar one.
    if (absl::EndsWith(field, "." + word) ||
        (meant.empty() && !field.empty())) {
      const std::string value =
          name == argument ? "=VALUE" : argument.substr(name.size());
      meant = absl::StrCat("--set ", field, value);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no option ", name,
      meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

absl::Status CommandLine::ParseArgument(const std::string& argument) {
  if (arguments_given_ < arguments_.size()) {
    *arguments_[arguments_given_++].target = argument;
  } else if (more_ != nullptr) {
    more_->push_back(argument);
  } else {
    std::vector<std::string> terms;
    for (const Argument& known : arguments_) terms.push_back(known.help.term);
    return absl::InvalidArgumentError(absl::StrCat(
        "unexpected argument \"", argument, "\"; ",
        terms.empty() ? "there are none"
                      : absl::StrCat("nothing but options comes after ",
                                     absl::StrJoin(terms, " "))));
  }
  return absl::OkStatus();
}

absl::Status CommandLine::CheckComplete() const {
  if (arguments_given_ < arguments_.size()) {
    const HelpEntry& missing = arguments_[arguments_given_].help;
    return absl::InvalidArgumentError(
        absl::StrCat("the argument ", missing.term, " is missing"));
  }
  for (const Option& option : options_) {
    if (option.required && !option.given) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", option.name, "=", option.value_name, " is missing"));
    }
  }
  return absl::OkStatus();
}

std::optional<int> CommandLine::Run(int argc, const char* const* argv) {
  if (argc == 2 && std::string(argv[1]) == kDescribeSwitch) {
    std::cout << Describe();
    return kExitDone;
  }
  const absl::StatusOr<ParseResult> result = Parse(argc, argv);
  if (!result.ok()) {
    std::cerr << text_.program << ": " << result.status().message() << "\n"
              << "See '" << text_.program << " --help'.\n";
    return kExitUsage;
  }
  if (*result == ParseResult::kHelp) {
    std::cout << Help();
    return kExitDone;
  }
  if (*result == ParseResult::kVersion) {
    std::cout << text_.program << " " << kVersion << "\n";
    return kExitDone;
  }
  return std::nullopt;
}

std::string CommandLine::Describe() const {
  std::string text;
  for (const Option& option : options_) {
    text += DescribedWord(text_.program, "option", "--" + option.name,
                          // An option whose value is optional is completed
                          // without one.
                          option.value_alone.empty() ? option.value_name : "",
                          option.help);
  }
  for (const Argument& argument : arguments_) {
    text += DescribedWord(text_.program, "argument", argument.help.term, "",
                          argument.help.meaning);
  }
  for (const auto& [target, entry] :
       {std::make_pair(more_, more_help_),
        std::make_pair(command_, command_help_)}) {
    if (target == nullptr) continue;
    text +=
        DescribedWord(text_.program, "argument", entry.term, "", entry.meaning);
  }
  return text;
}

std::string CommandLine::Help() const {
  std::string usage = absl::StrCat("Usage: ", text_.program, " [OPTIONS]");
  if (!text_.commands.empty()) absl::StrAppend(&usage, " COMMAND ...");
  std::vector<HelpEntry> arguments;
  for (const Argument& argument : arguments_) {
    arguments.push_back(argument.help);
  }
  if (more_ != nullptr) arguments.push_back(more_help_);
  if (command_ != nullptr) arguments.push_back(command_help_);
  for (const HelpEntry& argument : arguments) {
    absl::StrAppend(&usage, " ", argument.term);
  }
  std::vector<HelpEntry> options;
  for (const Option& option : options_) {
    HelpEntry entry{absl::StrCat("--", option.name), option.help};
    if (!option.value_name.empty()) {
      absl::StrAppend(&entry.term, option.value_alone.empty() ? "=" : "[=",
                      option.value_name, option.value_alone.empty() ? "" : "]");
    }
    if (option.required) absl::StrAppend(&entry.meaning, " Required.");
    if (option.repeatable) absl::StrAppend(&entry.meaning, " Repeatable.");
    if (!option.default_text.empty()) {
      absl::StrAppend(&entry.meaning, " [default: ", option.default_text, "]");
    }
    options.push_back(std::move(entry));
  }
  options.push_back({"-h, --help", "Show this help and exit."});
  options.push_back({"--version", "Show the version and exit."});

  std::string help = absl::StrCat(usage, "\n");
  if (!text_.description.empty()) {
    absl::StrAppend(&help, "\n");
    AppendWrapped(text_.description, /*column=*/0, /*indent=*/0, &help);
  }
  AppendEntries("Commands", text_.commands, &help);
  AppendEntries("Arguments", arguments, &help);
  AppendEntries("Options", options, &help);
  if (!text_.examples.empty()) absl::StrAppend(&help, "\nExamples:\n");
  for (const HelpEntry& example : text_.examples) {
    // A command line is long, so its description goes below it.
    constexpr size_t kIndent = 6;
    absl::StrAppend(&help, "  ", example.term, "\n      ");
    AppendWrapped(example.meaning, kIndent, kIndent, &help);
  }
  AppendEntries("Exit codes", text_.exit_codes, &help);
  return help;
}

}  // namespace ps
