#include "tools/bench/processes/peer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/exit_codes.h"
#include "common/status_macros.h"
#include "tools/process/requests.h"

namespace ps {
namespace {

constexpr const char* kVerbs[] = {"push", "pull", "check", "report", "finish"};

absl::Status NotUnderstood(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", line, "\" is no ", what, " of the bench"));
}

absl::StatusOr<std::string> TextOf(const PeerAnswer& answer) {
  if (answer.ok()) return absl::StrJoin(*answer, " ");
  return absl::AbortedError(
      absl::StrReplaceAll(answer.status().message(), {{"\n", " "}}));
}

}  // namespace

PeerAnswer NoNumbers(const absl::Status& status) {
  PS_RETURN_IF_ERROR(status);
  return std::vector<int64_t>();
}

int64_t SteadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

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

std::string FormatReply(const PeerAnswer& answer) {
  return FormatAnswer(TextOf(answer));
}

PeerAnswer ParseReply(absl::string_view line) {
  const absl::StatusOr<std::string> text = ParseAnswer(line);
  if (!text.ok()) {
    return absl::StartsWith(line, "error ") ? text.status()
                                            : NotUnderstood("answer", line);
  }
  std::vector<int64_t> numbers;
  for (const absl::string_view word :
       absl::StrSplit(*text, ' ', absl::SkipEmpty())) {
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

CommandText PeerText(const std::string& subject) {
  const std::string bench = "gradsieve bench " + subject;
  CommandText text;
  text.program = absl::StrCat(bench, " ", kPeer);
  text.description = absl::StrCat("A process that ", bench, " starts.");
  return text;
}

int RunPeer(CommandLine* command_line, int argc, char** argv,
            const std::function<PeerAnswer()>& start,
            const std::function<PeerAnswer(const PeerRequest&)>& answer) {
  if (const auto exit_code = command_line->Run(argc, argv)) return *exit_code;
  return ServePeer(&std::cin, start, answer);
}

int ServePeer(std::istream* requests, const std::function<PeerAnswer()>& start,
              const std::function<PeerAnswer(const PeerRequest&)>& answer) {
  const PeerAnswer ready = start();
  std::printf("%s\n", FormatReply(ready).c_str());
  std::fflush(stdout);
  if (!ready.ok()) return kExitFailed;
  return AnswerRequests(requests, [&](absl::string_view line) {
    const absl::StatusOr<PeerRequest> request = ParseRequest(line);
    return TextOf(request.ok() ? answer(*request) : request.status());
  });
}

}  // namespace ps
