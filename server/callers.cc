#include "server/callers.h"

#include <utility>

#include "common/status_macros.h"

namespace ps {

Callers::Callers(CallersOptions options) : options_(std::move(options)) {}

absl::Status Callers::CheckCaller(const grpc::CallbackServerContext& context,
                                  Role role, int index) const {
  PS_RETURN_IF_ERROR(options_.credentials->CheckCaller(context, role, index));
  Know(context);
  return absl::OkStatus();
}

absl::Status Callers::CheckWorker(const grpc::CallbackServerContext& context,
                                  const WorkerId& worker) const {
  PS_RETURN_IF_ERROR(CheckCaller(context, Role::kWorker, worker.rank()));
  return options_.membership->Check(worker.rank(), worker.incarnation());
}

void Callers::Know(const grpc::CallbackServerContext& context) const {
  if (options_.known != nullptr) options_.known(context.peer());
}

HeldCall::Ended Callers::Counted(const char* method) const {
  return [metrics = options_.metrics, method](absl::StatusCode code) {
    metrics->CallEnded(method, code);
  };
}

}  // namespace ps
