#include "tools/launch/remote_command.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace ps {

std::string QuoteForShell(absl::string_view word) {
  const bool plain =
      !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return absl::ascii_isalnum(c) || absl::StrContains("_-./=:,@%+", c);
      });
  if (plain) return std::string(word);
  return absl::StrCat(
      "'", absl::StrReplaceAll(word, {{"'", R"('\'')"}, {"!", R"('\!')"}}),
      "'");
}

std::string QuoteForShell(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, absl::string_view w) {
    absl::StrAppend(out, QuoteForShell(w));
  });
}

std::vector<std::string> SshArguments(const std::string& ssh,
                                      const std::string& host,
                                      const std::string& command,
                                      const std::string& output_file) {
  std::string line = absl::StrCat("exec ", ssh, " \"$@\"");
  if (!output_file.empty()) {
    absl::StrAppend(&line, " >", QuoteForShell(output_file));
  }
  return {"/bin/sh", "-c", line, "sh", "-T",
          // Nobody is there to type a password.
          "-oBatchMode=yes", "-oConnectTimeout=10",
          // A host that does not answer for 15 s is lost.
          "-oServerAliveInterval=5", "-oServerAliveCountMax=3", "--", host,
          command};
}

// The watcher reads with a builtin of the shell, so that it is one process,
// which ends with `kill`. It has no output: sshd would wait for its end.
const char kLifelineScript[] = R"(# Runs a program until standard input ends.
seconds=$1
shift
exec 3<&0
"$@" 3<&- </dev/null &
pid=$!
{
  while read -r line <&3; do kill -TERM $pid; done
  kill -TERM $pid
  while [ $seconds -gt 0 ] && kill -0 $pid; do
    sleep 1
    seconds=$((seconds - 1))
  done
  kill -KILL $pid
} >/dev/null 2>&1 &
watcher=$!
wait $pid
code=$?
kill $watcher 2>/dev/null
exit $code
)";

std::string LifelineCommand(const std::string& script, int seconds,
                            const std::vector<std::string>& arguments) {
  return absl::StrCat("exec sh ", QuoteForShell(script), " ", seconds, " ",
                      QuoteForShell(arguments));
}

std::string CheckProgramsCommand(const std::vector<std::string>& programs) {
  std::string script;
  for (const std::string& program : programs) {
    absl::StrAppend(&script, QuoteForShell(program),
                    " --version </dev/null >/dev/null || {\n  echo ",
                    QuoteForShell("cannot run " + program),
                    " >&2\n  exit 1\n}\n");
  }
  return script;
}

std::string WriteFileCommand(const std::string& path,
                             absl::string_view contents) {
  std::string end = "END_OF_FILE";
  while (absl::StrContains(contents, end)) end += "_";
  const std::string new_path = QuoteForShell(path + ".new");
  return absl::StrCat("cat >", new_path, " <<'", end, "' && mv ", new_path, " ",
                      QuoteForShell(path), " || exit 1\n", contents,
                      absl::EndsWith(contents, "\n") ? "" : "\n", end, "\n");
}

}  // namespace ps
