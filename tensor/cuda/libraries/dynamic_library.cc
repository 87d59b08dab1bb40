#include "tensor/cuda/libraries/dynamic_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensor/cuda/libraries/library_folders.h"

namespace ps {
namespace {

// The error message of the loader's latest call.
std::string LoaderError() {
  const char* const message = dlerror();
  return message == nullptr ? "unknown error" : message;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where the loader has found a library.
std::string PathOf(void* handle, const std::string& name) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : name;
}

}  // namespace

absl::StatusOr<DynamicLibrary> DynamicLibrary::Open(
    absl::Span<const char* const> names) {
  std::vector<std::string> files(names.begin(), names.end());
  const std::vector<std::string> folders =
      PythonLibraryFolders(Variable("PATH"), Variable("HOME"));
  for (const char* const name : names) {
    if (absl::StrContains(name, "/")) continue;
    for (const std::string& folder : folders) {
      files.push_back(absl::StrCat(folder, "/", name));
    }
  }
  std::vector<std::string> errors;
  for (const std::string& file : files) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return DynamicLibrary(handle, PathOf(handle, file));
    errors.push_back(LoaderError());
  }
  if (folders.empty()) {
    errors.push_back("the Python packages of PATH have no nvidia/*/lib");
  }
  return absl::UnavailableError(absl::StrJoin(errors, "; "));
}

absl::Status DynamicLibrary::LoadBeside(const std::string& name) const {
  const std::string beside = absl::StrCat(Folder(), "/", name);
  return Open({beside.c_str(), name.c_str()}).status();
}

std::string DynamicLibrary::Folder() const {
  char folder[PATH_MAX];
  return dlinfo(handle_, RTLD_DI_ORIGIN, folder) == 0 ? folder : ".";
}

absl::StatusOr<void*> DynamicLibrary::Address(const char* name) const {
  void* const address = dlsym(handle_, name);
  if (address == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(path_, " has no function ", name, ": ", LoaderError()));
  }
  return address;
}

}  // namespace ps
