#include "tensor/cpu/dnnl_step.h"

#include <omp.h>

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl_debug.h"

namespace ps {

OmpThreads::OmpThreads(int num_threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(num_threads);
}

OmpThreads::~OmpThreads() { omp_set_num_threads(before_); }

absl::Status DnnlStatus(dnnl_status_t status, absl::string_view what) {
  const std::string message =
      absl::StrCat(what, ": oneDNN says ", dnnl_status2str(status));
  switch (status) {
    case dnnl_success:
      return absl::OkStatus();
    case dnnl_out_of_memory:
      return absl::ResourceExhaustedError(message);
    case dnnl_invalid_arguments:
      return absl::InvalidArgumentError(message);
    case dnnl_unimplemented:
      return absl::UnimplementedError(message);
    default:
      return absl::InternalError(message);
  }
}

DnnlStep::DnnlStep(const DnnlContext& context, const dnnl::primitive& primitive,
                   std::vector<Argument> arguments, std::string what)
    : context_(context),
      primitive_(primitive),
      memories_(std::move(arguments)),
      what_(std::move(what)) {
  for (const Argument& argument : memories_) {
    arguments_.push_back({argument.first, argument.second.get()});
  }
}

absl::Status DnnlStep::Run(std::initializer_list<Binding> bindings) {
  const OmpThreads threads(context_.num_threads);
  for (const Binding& binding : bindings) {
    for (const dnnl_exec_arg_t& argument : arguments_) {
      if (argument.arg != binding.argument) continue;
      void* const data = const_cast<float*>(binding.data);
      void* before = nullptr;
      dnnl_status_t status =
          dnnl_memory_get_data_handle(argument.memory, &before);
      // The handle is set only when it changed: setting also zeroes the padding
      // of a blocked layout, which costs time.
      if (status == dnnl_success && before != data) {
        status = dnnl_memory_set_data_handle(argument.memory, data);
      }
      if (status != dnnl_success) return DnnlStatus(status, what_);
    }
  }
  dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), context_.stream.get(),
      static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_success) status = dnnl_stream_wait(context_.stream.get());
  return status == dnnl_success ? absl::OkStatus() : DnnlStatus(status, what_);
}

DnnlStep::Argument Bound(const DnnlContext& context, int argument,
                         const dnnl::memory::desc& desc) {
  return {argument, dnnl::memory(desc, context.engine, DNNL_MEMORY_NONE)};
}

}  // namespace ps
