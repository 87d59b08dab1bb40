#include "common/json.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

TEST(JsonTest, FieldsKeepTheirOrder) {
  const Json json = ParseJson(R"({"b": [1, 2.5], "a": null})");
  EXPECT_EQ(JsonText(json, /*indent=*/-1), R"({"b":[1,2.5],"a":null})");
  EXPECT_EQ(JsonText(json),
            "{\n  \"b\": [\n    1,\n    2.5\n  ],\n  \"a\": null\n}");
}

TEST(JsonTest, WhatIsNoJsonIsDiscarded) {
  EXPECT_TRUE(ParseJson("").is_discarded());
  EXPECT_TRUE(ParseJson("{\"a\": 1").is_discarded());
  EXPECT_TRUE(ParseJson(absl::string_view("{}\0", 3)).is_discarded());
  std::string repeated_key;
  EXPECT_TRUE(ParseSortedJson("[1,", &repeated_key).is_discarded());
}

TEST(JsonTest, WhatIsNestedTooDeepIsDiscarded) {
  for (const size_t depth : {100, 101, 200000}) {
    for (const bool object : {false, true}) {
      std::string text;
      for (size_t i = 0; i < depth; ++i) text += object ? "{\"a\":" : "[";
      text += "1";
      text += std::string(depth, object ? '}' : ']');
      std::string repeated_key;
      EXPECT_EQ(ParseJson(text).is_discarded(), depth > 100) << depth;
      EXPECT_EQ(ParseSortedJson(text, &repeated_key).is_discarded(),
                depth > 100)
          << depth;
    }
  }
}

TEST(JsonTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(JsonText("a\xff"), "\"a\xef\xbf\xbd\"");
}

TEST(JsonTest, ARepeatedKeyIsNamed) {
  std::string repeated_key;
  ParseSortedJson(R"({"a": {"b": 1}, "b": 2})", &repeated_key);
  EXPECT_EQ(repeated_key, "");
  ParseSortedJson(R"({"a": {"b": 1, "c": 2, "b": 3}})", &repeated_key);
  EXPECT_EQ(repeated_key, "b");
}

}  // namespace
}  // namespace ps
