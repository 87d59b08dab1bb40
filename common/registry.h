// A table from a name to a factory, filled by static initialisers.
//
// A plug-in is one .cc file that ends in a REGISTER_... line. Its cc_library
// needs `alwayslink = 1`; otherwise the linker drops the file, and the name is
// unknown at run time.
#ifndef COMMON_REGISTRY_H_
#define COMMON_REGISTRY_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"

namespace ps {

// Factory is any copyable type, usually a function pointer. The table is filled
// before main and only read afterwards, so lookups need no lock.
template <typename Factory>
class Registry {
 public:
  // `kind` is what error messages call an entry: "compressor", "model".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  // `meaning` says in one line what the entry is, for lists.
  bool Register(const std::string& name, const std::string& meaning,
                Factory factory) {
    CHECK(entries_.emplace(name, Entry{meaning, factory}).second)
        << "two " << kind_ << "s are called " << name;
    return true;
  }

  // Returns the factory. Errors: kInvalidArgument for an unknown name, with the
  // list of known ones.
  absl::StatusOr<Factory> Find(const std::string& name) const {
    const auto it = entries_.find(name);
    if (it == entries_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no ", kind_, " \"", name,
                       "\"; known are: ", absl::StrJoin(Names(), ", ")));
    }
    return it->second.factory;
  }

  // Returns each name with its meaning, in alphabetical order.
  std::vector<std::pair<std::string, std::string>> List() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (const auto& [name, entry] : entries_) {
      list.emplace_back(name, entry.meaning);
    }
    return list;
  }

  // Returns the names in alphabetical order.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : entries_) names.push_back(entry.first);
    return names;
  }

 private:
  struct Entry {
    std::string meaning;
    Factory factory;
  };

  const std::string kind_;
  std::map<std::string, Entry> entries_;
};

}  // namespace ps

#endif  // COMMON_REGISTRY_H_
