// Runs oneDNN without exceptions or allocations per call: a primitive and its
// arguments, prepared once and run many times.
#ifndef TENSOR_CPU_DNNL_STEP_H_
#define TENSOR_CPU_DNNL_STEP_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/cpu/shared_scratch.h"

namespace ps {

// Sets, for the lifetime of the object, the number of OpenMP threads that this
// thread's parallel regions get. oneDNN asks OpenMP both when it plans and when
// it runs, and the two numbers must agree.
class OmpThreads {
 public:
  explicit OmpThreads(int num_threads);
  ~OmpThreads();
  OmpThreads(const OmpThreads&) = delete;
  OmpThreads& operator=(const OmpThreads&) = delete;

 private:
  const int before_;
};

// State shared by everything planned on one backend.
struct DnnlContext {
  explicit DnnlContext(int threads)
      : engine(dnnl::engine::kind::cpu, 0),
        stream(engine),
        num_threads(threads),
        scratch(std::make_unique<SharedScratch>()),
        num_reorders(std::make_unique<int64_t>(0)) {}

  dnnl::engine engine;
  dnnl::stream stream;
  int num_threads;
  const std::unique_ptr<SharedScratch> scratch;
  // The number of activations converted from one layout to another.
  const std::unique_ptr<int64_t> num_reorders;
};

// Converts a status. `what` names the call and its shapes.
absl::Status DnnlStatus(dnnl_status_t status, absl::string_view what);

// A primitive with its arguments. Not thread-safe.
class DnnlStep {
 public:
  // One argument of the primitive (DNNL_ARG_...). Memory created with
  // DNNL_MEMORY_NONE gets its data in each Run.
  using Argument = std::pair<int, dnnl::memory>;
  // The data of an argument in one Run. The primitive writes only to outputs,
  // so inputs may be const.
  struct Binding {
    int argument;
    const float* data;
  };

  // `what` names the step in errors. `context` outlives the step.
  DnnlStep(const DnnlContext& context, const dnnl::primitive& primitive,
           std::vector<Argument> arguments, std::string what);

  absl::Status Run(std::initializer_list<Binding> bindings);

 private:
  const DnnlContext& context_;
  const dnnl::primitive primitive_;
  const std::vector<Argument> memories_;  // Owners of arguments_[i].memory.
  std::vector<dnnl_exec_arg_t> arguments_;
  const std::string what_;
};

// An argument whose data is bound in every Run.
DnnlStep::Argument Bound(const DnnlContext& context, int argument,
                         const dnnl::memory::desc& desc);

}  // namespace ps

#endif  // TENSOR_CPU_DNNL_STEP_H_
