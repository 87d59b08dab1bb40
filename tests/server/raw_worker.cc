#include "tests/server/raw_worker.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/mutex.h"
#include "common/version.h"
#include "glog/logging.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

// Longer than any call here takes, even under a sanitizer.
void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
}

// The result of a call; set by a gRPC thread.
struct Outcome {
  void Set(const absl::Status& result) {
    MutexLock lock(&mu);
    status = result;
    done = true;
    changed.SignalAll();
  }

  Mutex mu;
  CondVar changed;
  bool done ABSL_GUARDED_BY(mu) = false;
  absl::Status status ABSL_GUARDED_BY(mu);
};

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  CHECK(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

JobConfig PatientJob(int num_workers) {
  JobConfig config;
  ClusterConfig& cluster = *config.mutable_cluster();
  cluster.set_num_workers(num_workers);
  cluster.set_num_servers(1);
  cluster.set_startup_timeout_seconds(3600);
  cluster.set_lost_worker_timeout_seconds(3600);
  config.mutable_security()->set_mode(SecurityConfig::INSECURE);
  return config;
}

RunningServer::RunningServer(const JobConfig& config, int index) {
  ServerOptions options;
  options.config = config;
  options.index = index;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options);
  CHECK(server.ok()) << server.status();
  server_ = *std::move(server);
  waiting_ = std::thread([this] { server_->Wait().IgnoreError(); });
}

RunningServer::~RunningServer() { Stop(); }

void RunningServer::Stop() {
  server_->Stop(absl::AbortedError("the test is over"));
  if (waiting_.joinable()) waiting_.join();
}

std::string RunningServer::address() const { return server_->address(); }

RawWorker::RawWorker(const std::string& address)
    : RawWorker(address, grpc::InsecureChannelCredentials()) {}

RawWorker::RawWorker(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : channel_(grpc::CreateChannel(address, credentials)),
      stub_(ParameterServer::NewStub(channel_)),
      generic_stub_(channel_) {}

RegisterRequest RawWorker::ValidRegistration(
    const JobConfig& config, const WorkerId& worker,
    const std::vector<int64_t>& bucket_sizes) {
  RegisterRequest request;
  *request.mutable_worker() = worker;
  request.set_name("test:1");
  request.set_protocol(kProtocol);
  request.set_config(SharedConfigText(config));
  for (const int64_t size : bucket_sizes) request.add_bucket_sizes(size);
  request.set_total_iterations(10);
  return request;
}

absl::Status RawWorker::Register(const RegisterRequest& request) {
  grpc::ClientContext context;
  SetDeadline(&context);
  RegisterResponse response;
  return FromGrpcStatus(stub_->Register(&context, request, &response));
}

absl::StatusOr<GetStatusResponse> RawWorker::GetStatus() {
  grpc::ClientContext context;
  SetDeadline(&context);
  GetStatusResponse response;
  const absl::Status status =
      FromGrpcStatus(stub_->GetStatus(&context, GetStatusRequest(), &response));
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<std::string> RawWorker::Call(const std::string& method,
                                            const std::string& message) {
  grpc::ClientContext context;
  SetDeadline(&context);
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  Outcome outcome;
  MutexLock lock(&outcome.mu);
  const std::string path = absl::StrContains(method, '/')
                               ? absl::StrCat("/ps.", method)
                               : absl::StrCat("/ps.ParameterServer/", method);
  generic_stub_.UnaryCall(&context, path, grpc::StubOptions(), &request,
                          &response, [&outcome](const grpc::Status& status) {
                            outcome.Set(FromGrpcStatus(status));
                          });
  while (!outcome.done) outcome.changed.Wait(&outcome.mu);
  if (!outcome.status.ok()) return outcome.status;
  return BytesOf(response);
}

std::string MessageBytes(SliceMessage header, const PayloadBuffer& payload) {
  const auto bytes = payload.span();
  header.set_payload(std::string(bytes.begin(), bytes.end()));
  return header.SerializeAsString();
}

}  // namespace ps
