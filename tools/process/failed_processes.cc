#include "tools/process/failed_processes.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"

namespace ps {
namespace {

bool FailsByItself(const ProcessExit& exit) {
  return exit.signal != 0 || exit.code == kExitUsage ||
         exit.code == kExitConfig;
}

}  // namespace

std::vector<std::string> ProcessesNamedIn(absl::string_view message) {
  std::vector<std::string> names;
  for (size_t at = 0; at < message.size(); ++at) {
    if (at > 0 && absl::ascii_isalnum(message[at - 1])) continue;
    for (const absl::string_view role : {"server", "worker"}) {
      const size_t begin = at + role.size() + 1;
      size_t end = begin;
      while (end < message.size() && absl::ascii_isdigit(message[end])) ++end;
      if (end > begin && message.substr(at, role.size()) == role &&
          message[begin - 1] == ' ') {
        names.push_back(
            absl::StrCat(role, "-", message.substr(begin, end - begin)));
      }
    }
  }
  return names;
}

const FailedProcess* FailedProcesses::Find(const std::string& name) const {
  const auto found = std::find_if(
      processes_.begin(), processes_.end(),
      [&name](const FailedProcess& process) { return process.name == name; });
  return found == processes_.end() ? nullptr : &*found;
}

const FailedProcess& FailedProcesses::First() const {
  const FailedProcess* first = &processes_.front();
  std::set<std::string> seen;
  for (const FailedProcess* next = first; next != nullptr;) {
    first = next;
    next = nullptr;
    seen.insert(first->name);
    if (FailsByItself(first->exit)) break;
    for (const std::string& name : ProcessesNamedIn(first->error)) {
      if (next == nullptr && seen.count(name) == 0) next = Find(name);
    }
  }
  return *first;
}

absl::Status FailedProcesses::Status() const {
  const FailedProcess& first = First();
  // A shell, and so ssh, adds 128 to a signal.
  const bool killed = first.exit.signal != 0 || first.exit.code > 128;
  if (killed || first.exit.code == kExitUnreachable) {
    return absl::UnavailableError(first.description);
  }
  return first.exit.code == kExitConfig
             ? absl::FailedPreconditionError(first.description)
             : absl::AbortedError(first.description);
}

std::string FailedProcesses::Named() const {
  const FailedProcess& first = First();
  if (FailsByItself(first.exit)) return "";
  for (const std::string& name : ProcessesNamedIn(first.error)) {
    if (Find(name) == nullptr) return name;
  }
  return "";
}

}  // namespace ps
