#include "common/job_fields.h"

#include <cstddef>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/flags.h"
#include "common/nearest_word.h"
#include "google/protobuf/descriptor.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;

// Messages may be recursive.
constexpr int kMaxDepth = 4;

struct Group {
  const Descriptor* type;
  std::string prefix;  // "training."
  int depth;
};

// The fields that `--set` can name without an index, by their last name. If
// several share one, it means the first of those with the shortest path.
struct Fields {
  std::vector<std::string> names;  // The names, in order of the fields.
  std::map<std::string, std::string> paths;
};

Fields AllFields() {
  Fields fields;
  const auto add = [&fields](const std::string& name, const std::string& path) {
    if (fields.paths.emplace(name, path).second) fields.names.push_back(name);
  };
  std::vector<Group> groups = {{JobConfig::descriptor(), "", 1}};
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group group = groups[i];
    for (int j = 0; j < group.type->field_count(); ++j) {
      const FieldDescriptor& field = *group.type->field(j);
      const std::string path = absl::StrCat(group.prefix, field.name());
      const Descriptor* const type = field.message_type();
      if (type == nullptr) {
        add(field.name(), path);
      } else if (!field.is_repeated() && group.depth < kMaxDepth) {
        if (type->FindFieldByName("name") != nullptr) {
          add(field.name(), path + ".name");
        }
        groups.push_back({type, path + ".", group.depth + 1});
      }
    }
  }
  // Other programs use these names.
  for (const auto& [name, path] :
       std::initializer_list<std::pair<const char*, const char*>>{
           {"gpu", "machine.device"},
           {"cuda", "machine.device"},
           {"dataset", "data.name"}}) {
    add(name, path);
  }
  return fields;
}

}  // namespace

std::string NearestField(absl::string_view word) {
  const Fields fields = AllFields();
  const std::string nearest = NearestWord(word, fields.names);
  return nearest.empty() ? "" : fields.paths.at(nearest);
}

void AddOverrides(CommandLine* command_line,
                  std::vector<std::string>* overrides,
                  const std::string& example) {
  command_line->AddOption(
      "set", "FIELD=VALUE",
      absl::StrCat("Override a field of the job, as in ", example, "."),
      overrides);
  command_line->SetFieldFinder(NearestField);
}

}  // namespace ps
