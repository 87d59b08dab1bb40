#include "tools/doctor/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <utility>

#include "absl/status/status.h"

namespace ps {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  link_map* map = nullptr;
  std::string path = name;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) path = map->l_name;
  return SharedLibrary(handle, std::move(path));
}

SharedLibrary::SharedLibrary(void* handle, std::string path)
    : handle_(handle), path_(std::move(path)) {}

void* SharedLibrary::FindSymbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace ps
