// The parameter server's RPCs on gRPC's callback API.
//
// Handlers parse a message's header and hand all other work to the work queue;
// none of them blocks.
#ifndef SERVER_PS_SERVICE_H_
#define SERVER_PS_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/log_limit.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/config.pb.h"
#include "proto/parameter_server.grpc.pb.h"
#include "server/callers.h"
#include "server/held_call.h"
#include "server/held_pushes.h"
#include "server/limits/byte_credit.h"
#include "server/membership.h"
#include "server/server_metrics.h"
#include "server/shard.h"
#include "server/shard_snapshots.h"
#include "server/work_queue.h"

namespace ps {

class AttendCall;
struct SliceRequest;

// The calls with payloads are raw: their bytes never become a protobuf
// object (transport/slice_message.h).
using PsServiceWithSlices = ParameterServer::WithRawCallbackMethod_Push<
    ParameterServer::WithRawCallbackMethod_Pull<
        ParameterServer::WithRawCallbackMethod_GetPositions<
            ParameterServer::WithRawCallbackMethod_InitializeSlice<
                ParameterServer::WithRawCallbackMethod_AddSquares<
                    ParameterServer::Service>>>>>;
// Those about snapshots are raw because several workers share an answer.
using PsServiceWithSnapshots =
    ParameterServer::WithRawCallbackMethod_FindSnapshots<
        ParameterServer::WithRawCallbackMethod_Restore<
            ParameterServer::WithRawCallbackMethod_SaveSnapshot<
                PsServiceWithSlices>>>;
using PsServiceBase = ParameterServer::WithCallbackMethod_Register<
    ParameterServer::WithCallbackMethod_Attend<
        ParameterServer::WithCallbackMethod_Stop<
            ParameterServer::WithCallbackMethod_Finish<
                ParameterServer::WithCallbackMethod_GetStatus<
                    PsServiceWithSnapshots>>>>>;

// None of the plain pointers is owned; all outlive the gRPC server.
struct PsServiceOptions {
  const JobConfig* config = nullptr;
  int server_index = 0;
  const Callers* callers = nullptr;
  Membership* membership = nullptr;
  Shard* shard = nullptr;
  ShardSnapshots* snapshots = nullptr;
  WorkQueue* work_queue = nullptr;
  // Shared with answers that outlive the service.
  std::shared_ptr<ServerMetrics> metrics;
  const Clock* clock = nullptr;
  std::atomic<bool>* asked_to_stop = nullptr;
  std::function<void()> has_weights;  // See ServerOptions.
  // Called with the bytes that gRPC may use (MessageQuotaBytes), now and when
  // they change.
  std::function<void(int64_t bytes)> quota;
  // The job was done before this process; all who register are told.
  bool done = false;
};

// Thread-safe.
class PsService final : public PsServiceBase {
 public:
  explicit PsService(const PsServiceOptions& options);

  ~PsService() override;

  // Bytes that this worker's pushes and first weights hold now, and may hold.
  int64_t held_bytes(int rank) const { return credit_.held_bytes(rank); }
  int64_t credit_bytes() const { return credit_.bytes_per_worker(); }

  // Whether workers have saved a snapshot and ended, instead of being done.
  bool stopped() const { return stopped_; }

  // Ends the job: answers every held call and tells every attending worker.
  // Later calls get `status`, or an empty success if it is OK.
  void End(const absl::Status& status);

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const RegisterRequest* request,
                                     RegisterResponse* response) override;
  grpc::ServerWriteReactor<AttendEvent>* Attend(
      grpc::CallbackServerContext* context,
      const AttendRequest* request) override;
  grpc::ServerUnaryReactor* InitializeSlice(
      grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetPositions(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AddSquares(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* FindSnapshots(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Restore(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SaveSnapshot(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context,
                                 const StopRequest* request,
                                 StopResponse* response) override;
  grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                                   const FinishRequest* request,
                                   FinishResponse* response) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const GetStatusRequest* request,
                                      GetStatusResponse* response) override;

 private:
  friend class AttendCall;

  // A message from a known worker. If it is none, the call is answered.
  template <typename Message>
  std::optional<Message> FromWorker(const grpc::CallbackServerContext& context,
                                    const grpc::ByteBuffer& bytes,
                                    HeldCall* call) const;
  absl::StatusOr<SliceRequest> OpenSliceRequest(
      const grpc::CallbackServerContext& context,
      const grpc::ByteBuffer& bytes) const;
  // As OpenSliceRequest, and claims the memory of an answer with all elements
  // of the slice for `call`. Empty, and answered, if either fails.
  std::optional<SliceRequest> OpenForAnswer(
      const grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
      HeldCall* call);
  absl::Status CheckConfig(const RegisterRequest& request);
  absl::Status HandleRegister(const RegisterRequest& request,
                              RegisterResponse* response);
  // The layout is known.
  void BoundMemory();
  void SetQuota() const;
  void Forget(AttendCall* call);

  const JobConfig* const config_;
  const std::string shared_config_text_;
  const int server_index_;
  const Callers* const callers_;
  Membership* const membership_;
  Shard* const shard_;
  ShardSnapshots* const snapshots_;
  WorkQueue* const work_queue_;
  const std::shared_ptr<ServerMetrics> metrics_;
  const Clock* const clock_;
  std::atomic<bool>* const asked_to_stop_;
  std::atomic<bool> stopped_{false};
  // Calls the caller's function once. Outlives this object, as answers may.
  const std::function<void()> has_weights_;
  const std::function<void(int64_t)> quota_;
  const bool done_;
  LogLimit about_peers_;
  ByteCredit credit_;   // Limits the pushes and first weights that wait.
  ByteCredit answers_;  // Limits the answers that have not been sent.
  // Shared with answers, which may come after this object is gone.
  const std::shared_ptr<HeldPushes> held_pushes_;
  std::atomic<int64_t> num_attendances_{0};
  std::atomic<bool> bound_known_{false};

  Mutex mu_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status result_ ABSL_GUARDED_BY(mu_);  // Set when over_.
  std::set<AttendCall*> attending_ ABSL_GUARDED_BY(mu_);
  std::map<int, std::shared_ptr<HeldCall>> finishing_
      ABSL_GUARDED_BY(mu_);  // By rank.
};

}  // namespace ps

#endif  // SERVER_PS_SERVICE_H_
