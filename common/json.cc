#include "common/json.h"

#include <set>
#include <vector>

#include "nlohmann/json.hpp"

namespace ps {

namespace {

using Event = nlohmann::json::parse_event_t;

// Values nested more deeply are refused: code that walks through them may
// recurse for each level.
constexpr int kMaxDepth = 100;

// The parser reads a NUL as the end of the text.
absl::string_view UnlessNul(absl::string_view text) {
  return text.find('\0') == absl::string_view::npos ? text : "";
}

}  // namespace

Json ParseJson(absl::string_view text) {
  text = UnlessNul(text);
  bool too_deep = false;
  const auto look = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  Json parsed = Json::parse(text.begin(), text.end(), look,
                            /*allow_exceptions=*/false);
  return too_deep ? Json(Json::value_t::discarded) : parsed;
}

nlohmann::json ParseSortedJson(absl::string_view text,
                               std::string* repeated_key) {
  text = UnlessNul(text);
  bool too_deep = false;
  std::vector<std::set<std::string>> keys;  // One for each open object.
  // The parser would silently keep the last of two equal keys.
  const auto look = [&](int depth, Event event, nlohmann::json& parsed) {
    too_deep = too_deep || depth > kMaxDepth;
    if (too_deep) return false;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) {
      const std::string key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) *repeated_key = key;
    }
    return true;
  };
  nlohmann::json parsed = nlohmann::json::parse(text.begin(), text.end(), look,
                                                /*allow_exceptions=*/false);
  return too_deep ? nlohmann::json(nlohmann::json::value_t::discarded) : parsed;
}

std::string JsonText(const Json& json, int indent, bool ensure_ascii) {
  return json.dump(indent, ' ', ensure_ascii, Json::error_handler_t::replace);
}

}  // namespace ps
