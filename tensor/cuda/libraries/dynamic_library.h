// A shared library that is looked up when the program runs, so that one binary
// starts both on machines that have it and on machines that do not.
#ifndef TENSOR_CUDA_LIBRARIES_DYNAMIC_LIBRARY_H_
#define TENSOR_CUDA_LIBRARIES_DYNAMIC_LIBRARY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ps {

// The library stays loaded until the process ends: CUDA's libraries have their
// own threads and callbacks, and do not tolerate being unloaded.
class DynamicLibrary {
 public:
  // Opens the first of `names` that the system's loader finds, or else the
  // first in the folders of NVIDIA's Python packages (library_folders.h).
  // Errors: kUnavailable, with the loader's message for each place.
  static absl::StatusOr<DynamicLibrary> Open(
      absl::Span<const char* const> names);

  // Loads another library, from the folder of this one or else from where the
  // system's loader finds it: a later search for `name` finds it loaded.
  // Errors: kUnavailable, with the loader's messages.
  absl::Status LoadBeside(const std::string& name) const;

  // The file that was opened.
  const std::string& path() const { return path_; }

  // Looks up the function of this name; the caller guarantees that its type is
  // right. Errors: kUnavailable, naming library and function.
  template <typename Function>
  absl::Status Find(const char* name, Function** function) const {
    absl::StatusOr<void*> address = Address(name);
    if (!address.ok()) return address.status();
    *function = reinterpret_cast<Function*>(*address);
    return absl::OkStatus();
  }

 private:
  DynamicLibrary(void* handle, std::string path)
      : handle_(handle), path_(std::move(path)) {}

  absl::StatusOr<void*> Address(const char* name) const;
  std::string Folder() const;

  void* handle_;
  std::string path_;
};

// Opens the file "NAME.MAJOR", also where the toolkit's installer puts it.
// Errors: kUnavailable, beginning with the name of the library.
inline absl::StatusOr<DynamicLibrary> OpenCudaLibrary(absl::string_view library,
                                                      absl::string_view name,
                                                      int major) {
  const std::string file = absl::StrCat(name, ".", major);
  const std::string installed = absl::StrCat("/usr/local/cuda/lib64/", file);
  auto opened = DynamicLibrary::Open({file.c_str(), installed.c_str()});
  if (opened.ok()) return opened;
  return absl::UnavailableError(
      absl::StrCat(library, ": ", opened.status().message()));
}

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_DYNAMIC_LIBRARY_H_
