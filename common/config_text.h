// Reads a job in text format and finds every problem of the text with its
// place.
#ifndef COMMON_CONFIG_TEXT_H_
#define COMMON_CONFIG_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace google::protobuf {
class Message;
}

namespace ps {

// The result of parsing one text. Immutable after construction.
class ConfigText {
 public:
  // Reads `text` into *message, without the fields that have problems. Places
  // in messages begin with `name`, the file's.
  ConfigText(absl::string_view text, absl::string_view name,
             google::protobuf::Message* message);

  // One line each: "name:line:column: what is wrong". For an unknown field it
  // suggests the known one with the nearest name.
  const std::vector<std::string>& problems() const { return problems_; }

  // Whether reading reached the end of the text. If not, the last problem says
  // where it stopped, and *message lacks the rest.
  bool reached_end() const { return reached_end_; }

  // "name:line: " for a field such as "training.epochs" or
  // "cluster.servers[1]", or for the group that would hold it; empty if the
  // text has neither.
  std::string PlaceOf(const std::string& field) const;

 private:
  const std::string name_;
  std::vector<std::string> problems_;
  bool reached_end_ = false;
  // The lines of each field, by its path, counted from 1.
  std::map<std::string, std::vector<int>> lines_;
};

}  // namespace ps

#endif  // COMMON_CONFIG_TEXT_H_
