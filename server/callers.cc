#include "server/callers.h"

#include <utility>

#include "common/status_macros.h"

namespace ps {

Callers::Callers(CallersOptions options) : options_(std::move(options)) {}

absl::Status Callers::CheckCaller(const Caller& caller, Role role,
                                  int index) const {
  PS_RETURN_IF_ERROR(options_.credentials->CheckCaller(caller, role, index));
  Know(caller);
  return absl::OkStatus();
}

absl::Status Callers::CheckWorker(const Caller& caller,
                                  const WorkerId& worker) const {
  PS_RETURN_IF_ERROR(CheckCaller(caller, Role::kWorker, worker.rank()));
  return options_.membership->Check(worker.rank(), worker.incarnation());
}

void Callers::Know(const Caller& caller) const {
  if (options_.known != nullptr) options_.known(caller.peer);
}

}  // namespace ps
