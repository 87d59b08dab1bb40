#include "tools/command_line/completion.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"

namespace ps {
namespace {

struct Word {
  std::string text;
  std::string meaning;
};

// What may follow a program or command.
struct Words {
  std::vector<Word> commands;
  std::vector<Word> options;  // Those that take a value end in "=".
};

// By what is typed before, as in "gradsieve checkpoint".
std::map<std::string, Words> Parse(absl::string_view description) {
  std::map<std::string, Words> words;
  for (const absl::string_view line : absl::StrSplit(description, '\n')) {
    // See DescribedWord.
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    if (parts.size() != 5) continue;
    Words& here = words[parts[0]];
    if (parts[1] == "command") here.commands.push_back({parts[2], parts[4]});
    if (parts[1] == "option") {
      here.options.push_back(
          {absl::StrCat(parts[2], parts[3].empty() ? "" : "="), parts[4]});
    }
  }
  for (auto& entry : words) {
    entry.second.options.push_back({"--help", "Show this help and exit."});
  }
  return words;
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", R"('\'')"}}), "'");
}

// "'gradsieve train'|'gradsieve bench'|...": the pattern of a case.
std::string Commands(const std::map<std::string, Words>& words) {
  std::vector<std::string> names;
  for (const auto& [before, here] : words) {
    for (const Word& command : here.commands) {
      names.push_back(Quoted(absl::StrCat(before, " ", command.text)));
    }
  }
  return absl::StrJoin(names, "|");
}

std::string Texts(const std::vector<Word>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const Word& word) {
    out->append(word.text);
  });
}

// A list for zsh's _describe: 'word:meaning'.
std::string Described(const std::vector<Word>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const Word& word) {
    out->append(Quoted(absl::StrCat(
        absl::StrReplaceAll(word.text, {{":", "\\:"}}), ":", word.meaning)));
  });
}

}  // namespace

std::string BashCompletion(const std::string& program,
                           absl::string_view description) {
  const std::map<std::string, Words> words = Parse(description);
  std::string cases;
  for (const auto& [before, here] : words) {
    absl::StrAppend(&cases, "    ", Quoted(before),
                    ") commands=", Quoted(Texts(here.commands)),
                    " options=", Quoted(Texts(here.options)), " ;;\n");
  }
  return absl::Substitute(
      R"(# Completes the words of $0 in bash; made by `$0 completion bash`.
_$0() {
  local before=$0 commands= options= word i
  local current=$${COMP_WORDS[COMP_CWORD]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="$$before $${COMP_WORDS[i]}"
    case $$word in $1) before=$$word ;; esac
  done
  case $$before in
$2  esac
  COMPREPLY=()
  case $$current in
    -*) COMPREPLY=($$(compgen -W "$$options" -- "$$current")) ;;
    *)  if [ -n "$$commands" ]; then
          COMPREPLY=($$(compgen -W "$$commands help" -- "$$current"))
        else
          # Bash makes "=" a word of its own: after "--run-dir=" comes a file.
          [ "$$current" = "=" ] && current=
          COMPREPLY=($$(compgen -f -- "$$current"))
          compopt -o filenames
        fi ;;
  esac
  # The value follows without a space.
  case $${COMPREPLY[0]} in *=) compopt -o nospace ;; esac
}
complete -F _$0 $0
)",
      program, Commands(words), cases);
}

std::string ZshCompletion(const std::string& program,
                          absl::string_view description) {
  const std::map<std::string, Words> words = Parse(description);
  std::string cases;
  for (const auto& [before, here] : words) {
    absl::StrAppend(&cases, "    (", Quoted(before), ") commands=(",
                    Described(here.commands), ") options=(",
                    Described(here.options), ") ;;\n");
  }
  return absl::Substitute(
      R"(#compdef $0
# Completes the words of $0 in zsh; made by `$0 completion zsh`.
_$0() {
  local before=$0 word
  local -a commands options
  for word in $${words[2,CURRENT-1]}; do
    case "$$before $$word" in ($1) before="$$before $$word" ;; esac
  done
  case $$before in
$2  esac
  if [[ $$PREFIX == --*=* ]]; then
    compset -P '*='
    _files
  elif [[ $$PREFIX == -* ]]; then
    _describe -o option options -S ''
  elif (( $$#commands )); then
    _describe command commands
  else
    _files
  fi
}
# Loaded by itself from $$fpath, or by hand with: source <($0 completion zsh)
if [ "$$funcstack[1]" = _$0 ]; then _$0 "$$@"; else compdef _$0 $0; fi
)",
      program, Commands(words), cases);
}

}  // namespace ps
