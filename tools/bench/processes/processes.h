// The processes of one measurement between processes: started, asked, watched
// and ended together.
#ifndef TOOLS_BENCH_PROCESSES_PROCESSES_H_
#define TOOLS_BENCH_PROCESSES_PROCESSES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "tools/bench/processes/cpu_time.h"
#include "tools/bench/processes/peer_messages.h"
#include "tools/interrupts.h"
#include "tools/subprocesses.h"

namespace ps {

// Children are known by the numbers that the Start methods return. When one of
// them ends with an error, or at all before ExpectEnd(), what is under way then
// and all that comes later fails with kAborted: its name, how it ended and its
// last error. Ctrl-C fails it with kCancelled. Children that are left are
// killed when the object goes. Not thread-safe.
class BenchProcesses {
 public:
  // Errors: those of Interrupts.
  static absl::StatusOr<std::unique_ptr<BenchProcesses>> Create();

  BenchProcesses(const BenchProcesses&) = delete;
  BenchProcesses& operator=(const BenchProcesses&) = delete;

  // A program that says nothing of interest but its log.
  absl::StatusOr<int> Start(const std::string& name,
                            const std::vector<std::string>& arguments);

  // A process that takes requests (peer_messages.h): `arguments` and
  // --requests-fd=N. AwaitReplies() gives its first line.
  absl::StatusOr<int> StartPeer(const std::string& name,
                                std::vector<std::string> arguments);

  // One answer of each child, in this order. Errors: also kAborted with what
  // one of them says is wrong, after its name.
  absl::StatusOr<std::vector<std::vector<int64_t>>> AwaitReplies(
      const std::vector<int>& children);

  // Sends the request to all children. Several may be on their way: each child
  // takes them one after the other, and AwaitReplies() gives the oldest answer.
  void Send(const std::vector<int>& children, const PeerRequest& request);

  // Sends the request to all children, then awaits their replies.
  absl::StatusOr<std::vector<std::vector<int64_t>>> Ask(
      const std::vector<int>& children, const PeerRequest& request);

  // What a child writes into a file when it is ready; the file appears
  // complete. Errors: kDeadlineExceeded if it is not there in time.
  absl::StatusOr<std::string> AwaitFile(const std::string& path,
                                        absl::Duration timeout);

  // The sum over these children.
  absl::StatusOr<CpuTime> CpuTimeOfAll(const std::vector<int>& children) const;

  // What a child has of the machine's memory now. Errors: those of
  // ResidentBytesOf.
  absl::StatusOr<int64_t> ResidentBytes(int child) const;

  // While something is waited for from now on, makes this call once every
  // `period`, the first time at once; in place of the one before. Empty: none.
  // The call may ask and send, and do nothing else with this object.
  void CallEvery(absl::Duration period, std::function<void()> call);

  // What is asked for from now on may let children end.
  void ExpectEnd() { ending_ = true; }

  // Asks for nothing more, and waits until all children have ended by
  // themselves. Errors: also kDeadlineExceeded if one of them has not.
  absl::Status AwaitEnd(absl::Duration timeout);

 private:
  struct Member {
    std::string name;
    UniqueFd requests;                 // Not open where none are taken.
    std::vector<std::string> replies;  // Not given out yet; oldest first.
    std::string last_error;            // Last line of its log that is one.
  };

  explicit BenchProcesses(std::unique_ptr<Interrupts> interrupts);

  absl::StatusOr<int> Add(const std::string& name,
                          const std::vector<std::string>& arguments);
  void TakeLine(int child, OutputStream stream, absl::string_view line);
  void TakeExit(int child, const ProcessExit& exit);
  // Waits for something to happen, at most until `deadline`, and makes the
  // periodic call if it is due.
  absl::Status Poll(absl::Time deadline);

  const std::unique_ptr<Interrupts> interrupts_;
  std::map<int, Member> members_;  // By number of the child.
  absl::Status failure_;           // The first.
  bool ending_ = false;
  std::function<void()> periodic_;
  absl::Duration period_;
  absl::Time next_call_ = absl::InfiniteFuture();
  Subprocesses children_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PROCESSES_H_
