#include "common/json.h"

#include <set>
#include <vector>

#include "nlohmann/json.hpp"

namespace ps {

Json ParseJson(absl::string_view text) {
  return Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                     /*allow_exceptions=*/false);
}

nlohmann::json ParseSortedJson(absl::string_view text,
                               std::string* repeated_key) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // One for each open object.
  // The parser would silently keep the last of two equal keys.
  const auto note_keys = [&](int, Event event, nlohmann::json& parsed) {
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) {
      const std::string key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) *repeated_key = key;
    }
    return true;
  };
  return nlohmann::json::parse(text.begin(), text.end(), note_keys,
                               /*allow_exceptions=*/false);
}

std::string JsonText(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

}  // namespace ps
