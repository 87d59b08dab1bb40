#include "tensor/cuda/libraries/library_folders.h"

#include <glob.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ps {
namespace {

// The existing paths that a pattern of the shell names, sorted.
std::vector<std::string> Matches(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), /*flags=*/0, /*errfunc=*/nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

}  // namespace

std::vector<std::string> PythonLibraryFolders(const std::string& path,
                                              const std::string& home) {
  // Folders that contain lib/python3.*.
  std::vector<std::string> roots;
  const auto add = [&roots](const std::string& root) {
    if (std::find(roots.begin(), roots.end(), root) == roots.end()) {
      roots.push_back(root);
    }
  };
  for (const std::string& folder :
       std::vector<std::string>(absl::StrSplit(path, ':', absl::SkipEmpty()))) {
    if (Matches(absl::StrCat(folder, "/python3")).empty()) continue;
    add(absl::StrCat(folder, "/.."));
    // Debian's /usr/bin/python3 has these packages, too.
    if (folder == "/usr/bin") add("/usr/local");
  }
  if (!home.empty()) add(absl::StrCat(home, "/.local"));
  std::vector<std::string> folders;
  for (const std::string& root : roots) {
    for (const char* const packages :
         {"/lib/python3*/site-packages", "/lib/python3*/dist-packages"}) {
      for (std::string& each :
           Matches(absl::StrCat(root, packages, "/nvidia/*/lib"))) {
        if (std::find(folders.begin(), folders.end(), each) == folders.end()) {
          folders.push_back(std::move(each));
        }
      }
    }
  }
  return folders;
}

}  // namespace ps
