// A shared library that is looked for when the program runs, so that one binary
// starts on machines that have it and on machines that do not.
#ifndef TENSOR_CUDA_LIBRARIES_DYNAMIC_LIBRARY_H_
#define TENSOR_CUDA_LIBRARIES_DYNAMIC_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// Stays loaded until the process ends: CUDA's libraries keep threads and
// callbacks of their own, and do not bear to be unloaded.
class DynamicLibrary {
 public:
  // The first of `names` that the system's loader finds. Errors: kUnavailable,
  // with what the loader says of each.
  static absl::StatusOr<DynamicLibrary> Open(
      absl::Span<const char* const> names);

  // The function of this name; its type is the caller's promise. Errors:
  // kUnavailable, naming library and function.
  template <typename Function>
  absl::Status Find(const char* name, Function** function) const {
    absl::StatusOr<void*> address = Address(name);
    if (!address.ok()) return address.status();
    *function = reinterpret_cast<Function*>(*address);
    return absl::OkStatus();
  }

 private:
  DynamicLibrary(void* handle, std::string name)
      : handle_(handle), name_(std::move(name)) {}

  absl::StatusOr<void*> Address(const char* name) const;

  void* handle_;
  std::string name_;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_DYNAMIC_LIBRARY_H_
