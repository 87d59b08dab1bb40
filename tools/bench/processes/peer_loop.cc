#include "tools/bench/processes/peer_loop.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/exit_codes.h"
#include "common/status_macros.h"

namespace ps {
namespace {

void Say(const PeerAnswer& answer) {
  std::printf("%s\n", FormatReply(answer).c_str());
  std::fflush(stdout);
}

absl::Status Serve(
    std::FILE* requests, const std::function<PeerAnswer()>& start,
    const std::function<PeerAnswer(const PeerRequest&)>& answer) {
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> ready, start());
  Say(ready);
  char line[256];
  while (std::fgets(line, sizeof(line), requests) != nullptr) {
    PS_ASSIGN_OR_RETURN(const PeerRequest request,
                        ParseRequest(absl::StripSuffix(line, "\n")));
    PS_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, answer(request));
    Say(numbers);
  }
  return absl::OkStatus();
}

}  // namespace

int64_t SteadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int ServePeer(int requests_fd, const std::function<PeerAnswer()>& start,
              const std::function<PeerAnswer(const PeerRequest&)>& answer) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> requests(
      fdopen(requests_fd, "r"), &std::fclose);
  const absl::Status served = requests == nullptr
                                  ? absl::InvalidArgumentError(absl::StrCat(
                                        "--requests-fd is ", requests_fd,
                                        "; must be an open file descriptor"))
                                  : Serve(requests.get(), start, answer);
  if (served.ok()) return kExitDone;
  Say(served);
  return kExitFailed;
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
  int64_t requests_fd = -1;
  command_line->AddRequiredOption("requests-fd", "FD",
                                  "Descriptor from which it reads requests.",
                                  &requests_fd);
  if (const auto exit_code = command_line->Run(argc, argv)) return *exit_code;
  return ServePeer(static_cast<int>(requests_fd), start, answer);
}

}  // namespace ps
