// Parses and writes JSON. The parser and the writer of nlohmann's library are
// templates that take seconds to compile; json.cc compiles them once.
#ifndef COMMON_JSON_H_
#define COMMON_JSON_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace ps {

// Objects keep the order in which fields are written. Code that uses its
// methods includes nlohmann/json.hpp.
using Json = nlohmann::ordered_json;

// Parses a text. Returns a value that is_discarded() if the text is not JSON,
// or if a value is nested in more than 100 others.
Json ParseJson(absl::string_view text);

// Like ParseJson, with the fields of objects sorted, so that a lookup in a
// large object is fast. Sets *repeated_key to a key that an object has twice,
// if there is one.
nlohmann::json ParseSortedJson(absl::string_view text,
                               std::string* repeated_key);

// Writes `indent` spaces for each level, or one line if it is negative. Escapes
// all but printable ASCII, or only what JSON requires. Replaces bytes of
// strings that are not UTF-8.
std::string JsonText(const Json& json, int indent = 2,
                     bool ensure_ascii = false);

}  // namespace ps

#endif  // COMMON_JSON_H_
