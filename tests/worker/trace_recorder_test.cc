#include "worker/trace_recorder.h"

#include <string>

#include "absl/strings/match.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

using Json = nlohmann::json;
using Row = TraceRecorder::Row;

const absl::Time kBegin = absl::FromUnixSeconds(1000);

absl::Time At(double micros) { return kBegin + absl::Microseconds(micros); }

// The file's events, without the names of the rows.
Json EventsOf(const TraceRecorder& trace) {
  Json events = Json::array();
  const Json file = Json::parse(trace.ToJson());
  for (const Json& event : file["traceEvents"]) {
    if (event["ph"] != "M") events.push_back(event);
  }
  return events;
}

TEST(TraceRecorderTest, SpansHaveMicrosecondsFromTheBeginAndArguments) {
  TraceRecorder trace(kBegin);
  trace.Span(Row::kExchange, "compress bucket 0", At(2.5), At(10),
             {{"elements", int64_t{7}}, {"ratio", 0.5}, {"why", "cap"}});
  const Json events = EventsOf(trace);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0], Json::parse(R"({
      "name": "compress bucket 0", "ph": "X", "pid": 1, "tid": 2, "ts": 2.5,
      "dur": 7.5, "args": {"elements": 7, "ratio": 0.5, "why": "cap"}})"));
}

// Of two spans that begin together, viewers take the first one for the outer
// one.
TEST(TraceRecorderTest, EventsAreInOrderAndTheLongerFirst) {
  TraceRecorder trace(kBegin);
  trace.Span(Row::kTrainer, "inner", At(5), At(6));
  trace.Instant(Row::kTrainer, "between", At(5.5));
  trace.Span(Row::kTrainer, "outer", At(5), At(9));
  trace.Span(Row::kTrainer, "first", At(1), At(4));
  std::string names;
  for (const Json& event : EventsOf(trace)) {
    names += event["name"].get<std::string>() + " ";
  }
  EXPECT_EQ(names, "first outer inner between ");
}

TEST(TraceRecorderTest, WhatIsUnderWayIsAPairWithANumberOfItsOwn) {
  TraceRecorder trace(kBegin);
  trace.UnderWay("slice", At(1), At(4), {{"server", int64_t{3}}});
  trace.UnderWay("slice", At(2), At(3));
  const Json events = EventsOf(trace);
  ASSERT_EQ(events.size(), 4u);
  for (const int i : {0, 2}) {
    EXPECT_EQ(events[i]["ph"], "b");
    EXPECT_EQ(events[i + 1]["ph"], "e");
    EXPECT_EQ(events[i]["id"], events[i + 1]["id"]);
    EXPECT_EQ(events[i]["cat"], events[i + 1]["cat"]);
  }
  EXPECT_NE(events[0]["id"], events[2]["id"]);
  EXPECT_EQ(events[0]["args"]["server"], 3);
  EXPECT_EQ(events[1]["ts"], 4);
  EXPECT_EQ(events[3]["ts"], 3);
}

TEST(TraceRecorderTest, NotesAndBytesThatAreNoTextStayReadable) {
  TraceRecorder trace(kBegin);
  trace.Note({"job", "a\xff\"b"});
  trace.Note({"hidden_share", 0.25});
  const Json json = Json::parse(trace.ToJson());
  EXPECT_EQ(json["otherData"]["hidden_share"], 0.25);
  EXPECT_TRUE(
      absl::EndsWith(json["otherData"]["job"].get<std::string>(), "\"b"));
}

TEST(TraceSpanTest, LastsAsLongAsItLivesAndIsNothingWithoutARecorder) {
  const TraceSpan nothing(nullptr, Row::kTrainer, "nothing");
  EXPECT_FALSE(nothing.on());
  TraceRecorder trace(absl::UnixEpoch());
  {
    TraceSpan outer(&trace, Row::kTrainer, "outer");
    outer.Add({"bytes", int64_t{5}});
    const TraceSpan inner(&trace, Row::kTrainer, "inner");
  }
  const Json events = EventsOf(trace);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "outer");
  EXPECT_EQ(events[0]["args"]["bytes"], 5);
}

TEST(TraceRecorderTest, AFileThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const TraceRecorder trace(kBegin);
  const absl::Status status =
      trace.Write(testing::TempDir() + "/nowhere/trace.json");
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("nowhere"));
  const std::string path = testing::TempDir() + "/trace.json";
  ASSERT_TRUE(trace.Write(path).ok());
  EXPECT_EQ(ReadFile(path).value(), trace.ToJson());
}

}  // namespace
}  // namespace ps
