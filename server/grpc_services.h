// Carries a server's calls over gRPC's callback API.
#ifndef SERVER_GRPC_SERVICES_H_
#define SERVER_GRPC_SERVICES_H_

#include <functional>
#include <memory>
#include <utility>

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "proto/aux.grpc.pb.h"
#include "proto/parameter_server.grpc.pb.h"
#include "server/server_calls.h"
#include "transport/server_channel.h"

namespace ps {

// The services handle unary calls as raw bytes.
using PsServiceWithSlices = ParameterServer::WithRawCallbackMethod_Push<
    ParameterServer::WithRawCallbackMethod_Pull<
        ParameterServer::WithRawCallbackMethod_GetPositions<
            ParameterServer::WithRawCallbackMethod_InitializeSlice<
                ParameterServer::WithRawCallbackMethod_AddSquares<
                    ParameterServer::Service>>>>>;
using PsServiceWithSnapshots =
    ParameterServer::WithRawCallbackMethod_FindSnapshots<
        ParameterServer::WithRawCallbackMethod_Restore<
            ParameterServer::WithRawCallbackMethod_SaveSnapshot<
                PsServiceWithSlices>>>;
using PsServiceBase = ParameterServer::WithRawCallbackMethod_Register<
    ParameterServer::WithCallbackMethod_Attend<
        ParameterServer::WithRawCallbackMethod_Stop<
            ParameterServer::WithRawCallbackMethod_Finish<
                ParameterServer::WithRawCallbackMethod_GetStatus<
                    PsServiceWithSnapshots>>>>>;
using AuxServiceBase = Aux::WithRawCallbackMethod_Put<
    Aux::WithRawCallbackMethod_Get<Aux::Service>>;

// The gRPC service of workers. This class and the next are thread-safe. Their
// arguments must outlive the gRPC server.
class PsService final : public PsServiceBase {
 public:
  explicit PsService(ServerCalls* calls) : calls_(calls) {}

  using Context = grpc::CallbackServerContext;
  using Bytes = grpc::ByteBuffer;
  using Unary = grpc::ServerUnaryReactor;
  Unary* Register(Context* context, const Bytes* request,
                  Bytes* response) override {
    return Start(Rpc::kRegister, context, request, response);
  }
  Unary* InitializeSlice(Context* context, const Bytes* request,
                         Bytes* response) override {
    return Start(Rpc::kInitializeSlice, context, request, response);
  }
  Unary* Pull(Context* context, const Bytes* request,
              Bytes* response) override {
    return Start(Rpc::kPull, context, request, response);
  }
  Unary* Push(Context* context, const Bytes* request,
              Bytes* response) override {
    return Start(Rpc::kPush, context, request, response);
  }
  Unary* GetPositions(Context* context, const Bytes* request,
                      Bytes* response) override {
    return Start(Rpc::kGetPositions, context, request, response);
  }
  Unary* AddSquares(Context* context, const Bytes* request,
                    Bytes* response) override {
    return Start(Rpc::kAddSquares, context, request, response);
  }
  Unary* FindSnapshots(Context* context, const Bytes* request,
                       Bytes* response) override {
    return Start(Rpc::kFindSnapshots, context, request, response);
  }
  Unary* Restore(Context* context, const Bytes* request,
                 Bytes* response) override {
    return Start(Rpc::kRestore, context, request, response);
  }
  Unary* SaveSnapshot(Context* context, const Bytes* request,
                      Bytes* response) override {
    return Start(Rpc::kSaveSnapshot, context, request, response);
  }
  Unary* Stop(Context* context, const Bytes* request,
              Bytes* response) override {
    return Start(Rpc::kStop, context, request, response);
  }
  Unary* Finish(Context* context, const Bytes* request,
                Bytes* response) override {
    return Start(Rpc::kFinish, context, request, response);
  }
  Unary* GetStatus(Context* context, const Bytes* request,
                   Bytes* response) override {
    return Start(Rpc::kGetStatus, context, request, response);
  }
  grpc::ServerWriteReactor<AttendEvent>* Attend(
      Context* context, const AttendRequest* request) override;

 private:
  Unary* Start(Rpc rpc, Context* context, const Bytes* request,
               Bytes* response);

  ServerCalls* const calls_;
};

class AuxService final : public AuxServiceBase {
 public:
  // The type of ServerCalls::Call.
  using Call = std::function<std::shared_ptr<HeldCall>(
      Rpc rpc, const Caller& caller, const grpc::ByteBuffer& request,
      HeldCall::Answer answer)>;
  explicit AuxService(Call call) : call_(std::move(call)) {}

  grpc::ServerUnaryReactor* Put(grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;

 private:
  const Call call_;
};

}  // namespace ps

#endif  // SERVER_GRPC_SERVICES_H_
