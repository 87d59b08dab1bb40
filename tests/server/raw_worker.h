// A server in this process, and a worker that sends any message that a test
// wants, valid or not.
#ifndef TESTS_SERVER_RAW_WORKER_H_
#define TESTS_SERVER_RAW_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/payload/payload_buffer.h"
#include "grpcpp/channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "proto/config.pb.h"
#include "proto/parameter_server.grpc.pb.h"
#include "server/server.h"

namespace ps {

// A job whose servers never time out, for tests that send messages by hand.
JobConfig PatientJob(int num_workers);

// Serves until it is destroyed; CHECKs that it could start.
class RunningServer {
 public:
  explicit RunningServer(const JobConfig& config, int index = 0);
  ~RunningServer();

  std::string address() const;

  // Ends the job with kAborted and waits until all have been told.
  void Stop();

 private:
  std::unique_ptr<Server> server_;
  std::thread waiting_;
};

class RawWorker {
 public:
  explicit RawWorker(const std::string& address);
  RawWorker(const std::string& address,
            const std::shared_ptr<grpc::ChannelCredentials>& credentials);

  // A request that a server with this `config` accepts.
  static RegisterRequest ValidRegistration(
      const JobConfig& config, const WorkerId& worker,
      const std::vector<int64_t>& bucket_sizes);

  absl::Status Register(const RegisterRequest& request);
  absl::StatusOr<GetStatusResponse> GetStatus();

  // `method` is "Push", "Pull" or "InitializeSlice", or one of another service,
  // as "Aux/Put". Returns the bytes of the answer's message. Thread-safe.
  absl::StatusOr<std::string> Call(const std::string& method,
                                   const std::string& message);

  ParameterServer::Stub* stub() { return stub_.get(); }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<ParameterServer::Stub> stub_;
  grpc::GenericStub generic_stub_;
};

// A message as protobuf encodes it.
std::string MessageBytes(SliceMessage header, const PayloadBuffer& payload);

}  // namespace ps

#endif  // TESTS_SERVER_RAW_WORKER_H_
