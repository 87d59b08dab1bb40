// A shared library of the machine, found as the program itself would find it.
#ifndef TOOLS_DOCTOR_SHARED_LIBRARY_H_
#define TOOLS_DOCTOR_SHARED_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace ps {

class SharedLibrary {
 public:
  // `name` as in "libcuda.so.1". The library stays loaded until the process
  // ends, because CUDA's libraries do not support being unloaded. Errors:
  // kNotFound with the loader's message.
  static absl::StatusOr<SharedLibrary> Open(const std::string& name);

  // Path of the library.
  const std::string& path() const { return path_; }

  // The function of this name and type; null if it has none.
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(FindSymbol(name));
  }

 private:
  SharedLibrary(void* handle, std::string path);
  void* FindSymbol(const char* name) const;

  void* handle_;
  std::string path_;
};

}  // namespace ps

#endif  // TOOLS_DOCTOR_SHARED_LIBRARY_H_
