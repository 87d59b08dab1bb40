#include "tensor/cuda/libraries/dynamic_library.h"

#include <dlfcn.h>
#include <limits.h>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// The error message of the loader's latest call.
std::string LoaderError() {
  const char* const message = dlerror();
  return message == nullptr ? "unknown error" : message;
}

}  // namespace

absl::StatusOr<DynamicLibrary> DynamicLibrary::Open(
    absl::Span<const char* const> names) {
  std::string errors;
  for (const char* const name : names) {
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return DynamicLibrary(handle, name);
    absl::StrAppend(&errors, errors.empty() ? "" : "; ", LoaderError());
  }
  return absl::UnavailableError(errors);
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
        absl::StrCat(name_, " has no function ", name, ": ", LoaderError()));
  }
  return address;
}

}  // namespace ps
