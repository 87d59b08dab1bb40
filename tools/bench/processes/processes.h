// The processes of one measurement, which are started, asked, watched and ended
// together.
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
#include "tools/bench/processes/peer.h"
#include "tools/bench/processes/usage.h"
#include "tools/process/signals.h"
#include "tools/process/subprocesses.h"
#include "tools/process/temporary_directory.h"

namespace ps {

// Children are identified by the numbers that the Start methods return. When a
// child ends with an error, or ends at all before ExpectEnd(), the current call
// and all later ones fail with kAborted and a message with its name, how it
// ended and its last error. After Ctrl-C they fail with kCancelled. The
// destructor kills children that are still running. Not thread-safe.
class BenchProcesses {
 public:
  // Errors: those of Interrupts and TemporaryDirectory.
  static absl::StatusOr<std::unique_ptr<BenchProcesses>> Create();

  BenchProcesses(const BenchProcesses&) = delete;
  BenchProcesses& operator=(const BenchProcesses&) = delete;

  // Starts a program. Either its output is only a log, or it answers requests
  // on its standard input (peer.h), and AwaitReplies() returns its first line.
  absl::StatusOr<int> Start(const std::string& name,
                            const std::vector<std::string>& arguments);

  // Starts this program to answer requests, `gradsieve bench SUBJECT peer
  // ARGUMENTS` (RunPeer).
  absl::StatusOr<int> StartPeer(const std::string& name,
                                const std::string& subject,
                                const std::vector<std::string>& arguments);

  // One answer of each child, in the order of `children`. Errors: also kAborted
  // with the name of a child and the error that it reports.
  absl::StatusOr<std::vector<std::vector<int64_t>>> AwaitReplies(
      const std::vector<int>& children);

  // Sends the request to all children. Several requests may be pending: each
  // child answers them one after the other, and AwaitReplies() returns the
  // oldest answer.
  void Send(const std::vector<int>& children, const PeerRequest& request);

  // Sends the request to all children, then awaits their replies.
  absl::StatusOr<std::vector<std::vector<int64_t>>> Ask(
      const std::vector<int>& children, const PeerRequest& request);

  // Makes the children compare what they have with what `pushes` pushes of each
  // worker must give. Errors: those of Ask, after "verification failed: ".
  absl::Status Check(const std::vector<int>& children, int64_t pushes);

  // The contents of a file that a child writes when it is ready; the file must
  // appear complete. Errors: kDeadlineExceeded if it does not appear in time.
  absl::StatusOr<std::string> AwaitFile(const std::string& path,
                                        absl::Duration timeout);

  // The processor time of these children together, without `before`.
  absl::StatusOr<CpuTime> CpuTimeOfAll(const std::vector<int>& children,
                                       const CpuTime& before = {}) const;

  // The resident memory of a child now. Errors: those of ResidentBytesOf.
  absl::StatusOr<int64_t> ResidentBytes(int child) const;

  // From now on, makes this call once every `period` while a method waits, the
  // first time at once. Replaces the call that was set before; an empty
  // function means none. The call may query this object and send requests, but
  // nothing else.
  void CallEvery(absl::Duration period, std::function<void()> call);

  // From now on children may end by themselves without an error.
  void ExpectEnd() { ending_ = true; }

  // Sends no more requests, and waits until all children have ended by
  // themselves. Errors: also kDeadlineExceeded if a child has not ended in
  // time.
  absl::Status AwaitEnd(absl::Duration timeout);

  // Asks these children to finish, then waits half a minute at most until all
  // children have ended.
  absl::Status Finish(const std::vector<int>& children);

  // A directory for files of the children. Outlives them.
  const std::string& directory() const { return directory_->path(); }

 private:
  struct Member {
    std::string name;
    std::vector<std::string> replies;  // Not returned yet; oldest first.
    std::string last_error;            // The last error in its log.
  };

  BenchProcesses(std::unique_ptr<Interrupts> interrupts,
                 std::unique_ptr<TemporaryDirectory> directory);

  void TakeLine(int child, OutputStream stream, absl::string_view line);
  void TakeExit(int child, const ProcessExit& exit);
  // Waits for an event, at most until `deadline`, and makes the periodic call
  // if it is due.
  absl::Status Poll(absl::Time deadline);

  const std::unique_ptr<Interrupts> interrupts_;
  const std::unique_ptr<TemporaryDirectory> directory_;
  std::map<int, Member> members_;  // By number of the child.
  absl::Status failure_;           // The first one.
  bool ending_ = false;
  std::function<void()> periodic_;
  absl::Duration period_;
  absl::Time next_call_ = absl::InfiniteFuture();
  Subprocesses children_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PROCESSES_H_
