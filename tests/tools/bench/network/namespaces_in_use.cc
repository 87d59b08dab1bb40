#include "tests/tools/bench/network/namespaces_in_use.h"

#include <net/if.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

// Reads links like "net:[4026531833]"; others, and those that have disappeared,
// are ignored.
void AddLink(const fs::path& link, std::set<std::string>* found) {
  std::error_code error;
  const std::string target = fs::read_symlink(link, error).string();
  if (!error && absl::StartsWith(target, "net:[")) found->insert(target);
}

void AddProcess(const fs::path& process, std::set<std::string>* found) {
  std::error_code error;
  for (fs::directory_iterator task(process / "task", error), end; task != end;
       task.increment(error)) {
    AddLink(task->path() / "ns/net", found);
  }
  for (fs::directory_iterator fd(process / "fd", error), end; fd != end;
       fd.increment(error)) {
    AddLink(fd->path(), found);
  }
}

}  // namespace

std::set<std::string> NetworkNamespacesInUse() {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    int pid = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &pid)) {
      AddProcess(entry.path(), &found);
    }
  }
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    for (const absl::string_view field : absl::StrSplit(line, ' ')) {
      if (absl::StartsWith(field, "net:[")) found.emplace(field);
    }
  }
  return found;
}

std::set<std::string> NetworkInterfaces() {
  std::set<std::string> names;
  struct if_nameindex* const interfaces = if_nameindex();
  for (auto* each = interfaces; each != nullptr && each->if_index != 0;
       ++each) {
    names.insert(each->if_name);
  }
  if_freenameindex(interfaces);
  return names;
}

}  // namespace ps
