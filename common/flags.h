// The command line of a program. Each option is declared once, with the
// variable that it sets; parsing, help and error messages follow from the
// declarations.
//
//   Options options;  // Holds the defaults.
//   CommandLine command_line(text);
//   command_line.AddArgument("JOB", "The job, a .textproto file.",
//                            &options.job);
//   command_line.AddOption("index", "I", "Which server this is, from 0.",
//                          &options.index);
//   command_line.AddSwitch("check", "Check the job and stop.", &options.check);
//   if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
#ifndef COMMON_FLAGS_H_
#define COMMON_FLAGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// A term and its meaning: one line of a list in the help.
struct HelpEntry {
  std::string term;
  std::string meaning;
};

// The parts of the help other than the options. Empty parts are omitted.
struct CommandText {
  // The program as typed: "gradsieve train".
  std::string program;
  std::string description;            // One paragraph; wrapped in the help.
  std::vector<HelpEntry> commands;    // A subcommand and what it does.
  std::vector<HelpEntry> examples;    // A command line and what it does.
  std::vector<HelpEntry> exit_codes;  // A code and when it is used.
};

enum class ParseResult {
  kRun,  // Every option and argument is set.
  // --help or -h, or --version, was given; targets may or may not be set.
  kHelp,
  kVersion,
};

// With this as its only argument a program prints its words (Describe) and
// exits, for shell completion. The help does not list it.
inline constexpr char kDescribeSwitch[] = "--describe-words";

// Returns the line of Describe for a word that may follow `program`:
// "program<TAB>kind<TAB>word<TAB>value name<TAB>meaning\n". Kinds are
// "command", "option" and "argument".
std::string DescribedWord(const std::string& program, const std::string& kind,
                          const std::string& word,
                          const std::string& value_name,
                          const std::string& meaning);

// Accepts "--name=value" and "--name value", switches as "--name", and options
// and arguments in any order. Everything after "--" is an argument, or belongs
// to a command. Not thread-safe. Every target must outlive Parse().
class CommandLine {
 public:
  explicit CommandLine(CommandText text);

  // Adds an option with a value. `value_name` stands for the value in the help:
  // "FILE". `help` is one sentence. The current value of *target is the
  // default; the help shows it unless it is empty. A vector option may be
  // repeated; any other option may be given once.
  void AddOption(const std::string& name, const std::string& value_name,
                 const std::string& help, std::string* target);
  // A number that does not fit an int is an error.
  void AddOption(const std::string& name, const std::string& value_name,
                 const std::string& help, int* target);
  void AddOption(const std::string& name, const std::string& value_name,
                 const std::string& help, int64_t* target);
  void AddOption(const std::string& name, const std::string& value_name,
                 const std::string& help, double* target);
  void AddOption(const std::string& name, const std::string& value_name,
                 const std::string& help, std::vector<std::string>* target);

  // Like AddOption, but leaving the option out is an error.
  template <typename Target>
  void AddRequiredOption(const std::string& name, const std::string& value_name,
                         const std::string& help, Target* target) {
    AddOption(name, value_name, help, target);
    options_.back().required = true;
    options_.back().default_text.clear();
  }

  // Adds an option whose value is optional: "--name" alone means
  // `value_alone`, and only "--name=value" gives another.
  void AddOptionalValue(const std::string& name, const std::string& value_name,
                        const std::string& help, const std::string& value_alone,
                        std::string* target);

  // Adds an option without a value; giving it sets *target to true.
  void AddSwitch(const std::string& name, const std::string& help,
                 bool* target);

  // Adds a required positional argument. Arguments are expected in the order in
  // which they were added.
  void AddArgument(const std::string& name, const std::string& help,
                   std::string* target);

  // Takes all further positional arguments; there may be none.
  void AddMoreArguments(const std::string& name, const std::string& help,
                        std::vector<std::string>* target);

  // Takes everything after "--", a program and its arguments, which are then
  // arguments of nothing else. There may be none.
  void AddCommand(const std::string& name, const std::string& help,
                  std::vector<std::string>* target);

  // An option that is unknown may be meant as the field of a job that
  // `find_field` returns for its name, to be given by --set; empty: none is.
  void SetFieldFinder(std::string (*find_field)(absl::string_view name)) {
    find_field_ = find_field;
  }

  // argv[0] is skipped. A second call overwrites the targets, but appends to
  // vectors. Errors: kInvalidArgument names the option and, if it is unknown,
  // suggests the known one with the nearest name.
  absl::StatusOr<ParseResult> Parse(int argc, const char* const* argv);

  // Calls Parse, and prints the help or the version (common/version.h) to
  // stdout or an error to stderr. Returns the exit code, or nullopt if the
  // program should run.
  std::optional<int> Run(int argc, const char* const* argv);

  // Returns a line (DescribedWord) for each option and argument, in the order
  // in which they were added.
  std::string Describe() const;

  // Returns the help, at most 80 columns wide except for longer words.
  std::string Help() const;

 private:
  struct Option {
    std::string name;         // The name, without the dashes.
    std::string value_name;   // Empty for a switch.
    std::string value_alone;  // See AddOptionalValue; empty: must have a value.
    std::string help;
    std::string default_text;
    bool repeatable = false;
    bool required = false;
    std::function<absl::Status(absl::string_view value)> set;
    bool given = false;
  };
  struct Argument {
    HelpEntry help;
    std::string* target = nullptr;
  };

  Option& Declare(const std::string& name, const std::string& value_name,
                  const std::string& help);

  // Sets the option that arguments[*next] names. Advances *next if the option's
  // value is the following argument.
  absl::Status ParseOption(const std::vector<std::string>& arguments,
                           size_t* next);
  absl::Status FailUnknownOption(const std::string& argument) const;
  absl::Status ParseArgument(const std::string& argument);
  absl::Status CheckComplete() const;

  const CommandText text_;
  std::vector<Option> options_;
  std::vector<Argument> arguments_;
  HelpEntry more_help_;
  std::vector<std::string>* more_ = nullptr;
  HelpEntry command_help_;
  std::vector<std::string>* command_ = nullptr;
  size_t arguments_given_ = 0;
  std::string (*find_field_)(absl::string_view name) = nullptr;
};

}  // namespace ps

#endif  // COMMON_FLAGS_H_
