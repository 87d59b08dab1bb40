#include "tools/bench/processes/peer_messages.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ps {
namespace {

constexpr const char* kVerbs[] = {"push", "pull", "check", "report", "finish"};

absl::Status NotUnderstood(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", line, "\" is no ", what, " of the bench"));
}

}  // namespace

std::string FormatRequest(const PeerRequest& request) {
  return absl::StrCat(kVerbs[request.verb], " ", request.count);
}

absl::StatusOr<PeerRequest> ParseRequest(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  PeerRequest request;
  const auto* const verb =
      std::find(std::begin(kVerbs), std::end(kVerbs), words[0]);
  if (words.size() != 2 || verb == std::end(kVerbs) ||
      !absl::SimpleAtoi(words[1], &request.count) || request.count < 0) {
    return NotUnderstood("request", line);
  }
  request.verb = static_cast<PeerRequest::Verb>(verb - std::begin(kVerbs));
  return request;
}

std::string FormatReply(const absl::StatusOr<std::vector<int64_t>>& reply) {
  if (!reply.ok()) {
    return absl::StrCat(
        "error ", absl::StrReplaceAll(reply.status().message(), {{"\n", " "}}));
  }
  return absl::StrCat("ok ", absl::StrJoin(*reply, " "));
}

absl::StatusOr<std::vector<int64_t>> ParseReply(absl::string_view line) {
  absl::string_view rest = line;
  if (absl::ConsumePrefix(&rest, "error ")) {
    return absl::AbortedError(rest);
  }
  if (!absl::ConsumePrefix(&rest, "ok ")) return NotUnderstood("answer", line);
  std::vector<int64_t> numbers;
  for (const absl::string_view word :
       absl::StrSplit(rest, ' ', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(word, &numbers.emplace_back())) {
      return NotUnderstood("answer", line);
    }
  }
  return numbers;
}

std::vector<int64_t> TimingNumbers(const PeerTiming& timing) {
  return {timing.start_nanoseconds, timing.end_nanoseconds,
          timing.payload_bytes, timing.answer_bytes};
}

absl::StatusOr<PeerTiming> ParseTiming(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 4) {
    return NotUnderstood("timing", absl::StrJoin(numbers, " "));
  }
  PeerTiming timing;
  timing.start_nanoseconds = numbers[0];
  timing.end_nanoseconds = numbers[1];
  timing.payload_bytes = numbers[2];
  timing.answer_bytes = numbers[3];
  return timing;
}

}  // namespace ps
