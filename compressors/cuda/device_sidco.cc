#include "compressors/cuda/device_sidco.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/cuda/sidco_launch.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {
namespace {

// What follows the scratch in pinned memory starts at a multiple of this.
constexpr int64_t kAlignmentBytes = 256;

int64_t RoundedUp(int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

absl::Status CheckRequest(const DeviceSidcoRequest& request, int64_t n) {
  const EstimateRequest& estimate = request.estimate;
  if (request.n != n || estimate.stages < 1 ||
      estimate.stages > kMaxDeviceStages || request.num_known_steps < 0 ||
      request.num_known_steps > kMaxDeviceStages) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a vector of ", request.n, " elements and ", estimate.stages,
        " stages, ", request.num_known_steps, " of them known; must be ", n,
        " elements and 1 to ", kMaxDeviceStages, " stages"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceSidco>> DeviceSidco::Create(
    int64_t n, int64_t max_selected, SparseWork* work) {
  if (n < 1 || max_selected < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("SIDCo of ", n, " elements, of which ", max_selected,
                     " are sent at a time; must be at least 1 each"));
  }
  auto sidco =
      std::unique_ptr<DeviceSidco>(new DeviceSidco(n, max_selected, work));
  const std::string what = absl::StrCat("SIDCo of ", n, " elements");
  const int64_t chunks = NumSparseChunks(n);
  const auto& memory = work->memory();
  PS_ASSIGN_OR_RETURN(sidco->passes_,
                      AllocateArray<SidcoPasses>(memory, 1, what));
  PS_ASSIGN_OR_RETURN(
      sidco->offsets_,
      AllocateArray<uint16_t>(memory, chunks * int64_t{kListCapacity}, what));
  PS_ASSIGN_OR_RETURN(
      sidco->values_,
      AllocateArray<float>(memory, chunks * int64_t{kListCapacity}, what));
  PS_ASSIGN_OR_RETURN(sidco->sizes_,
                      AllocateArray<uint32_t>(memory, chunks, what));
  sidco->lists_.offsets = sidco->offsets_.get();
  sidco->lists_.values = sidco->values_.get();
  sidco->lists_.sizes = sidco->sizes_.get();
  PS_ASSIGN_OR_RETURN(sidco->selected_indices_,
                      AllocateArray<uint32_t>(memory, max_selected, what));
  PS_ASSIGN_OR_RETURN(sidco->selected_values_,
                      AllocateArray<float>(memory, max_selected, what));
  const int64_t scratch = RoundedUp(sizeof(HostScratch));
  const int64_t indices =
      RoundedUp(max_selected * static_cast<int64_t>(sizeof(uint32_t)));
  PS_ASSIGN_OR_RETURN(sidco->pinned_,
                      AllocatePinnedMemory(scratch + 2 * indices));
  char* const pinned = static_cast<char*>(sidco->pinned_.get());
  sidco->host_ = new (pinned) HostScratch();
  sidco->host_indices_ = reinterpret_cast<uint32_t*>(pinned + scratch);
  sidco->host_values_ = reinterpret_cast<float*>(pinned + scratch + indices);
  // Pieces of memory that others may still work on.
  PS_RETURN_IF_ERROR(work->streams().MakeCurrent());
  PS_RETURN_IF_ERROR(work->streams().AwaitAll());
  return sidco;
}

absl::Status DeviceSidco::QueuePasses(const DeviceSidcoRequest& request,
                                      const SiftArguments& arguments) {
  const cudaStream_t stream = work_->stream();
  const int64_t chunks = NumSparseChunks(n_);
  host_->passes.Start(request);
  PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(passes_.get(), &host_->passes,
                                          sizeof(SidcoPasses),
                                          cudaMemcpyHostToDevice, stream));
  // How many are needed, the device alone knows; what comes after the last is
  // over at once.
  for (int pass = SidcoPasses::MaxPasses(request); pass > 0; --pass) {
    PS_RETURN_IF_CUDA_ERROR(LaunchPass(passes_.get(), arguments, stream));
    PS_RETURN_IF_CUDA_ERROR(
        LaunchAdvance(arguments.stats, chunks, passes_.get(), stream));
  }
  PS_RETURN_IF_CUDA_ERROR(
      LaunchCountSelected(passes_.get(), arguments, stream));
  PS_RETURN_IF_CUDA_ERROR(
      LaunchScan(arguments.stats, chunks, work_->bases(), stream));
  PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(&host_->passes, passes_.get(),
                                          sizeof(SidcoPasses),
                                          cudaMemcpyDeviceToHost, stream));
  PS_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(&host_->count, work_->bases() + chunks,
                      sizeof(host_->count), cudaMemcpyDeviceToHost, stream));
  return absl::OkStatus();
}

absl::Status DeviceSidco::FetchSelection(int64_t count,
                                         const SparseInput& input,
                                         Selection* selection) {
  const cudaStream_t stream = work_->stream();
  selection->indices.resize(count);
  selection->values.resize(count);
  SelectArguments arguments;
  arguments.input = input;
  arguments.bases = work_->bases();
  arguments.indices = selected_indices_.get();
  arguments.values = selected_values_.get();
  for (int64_t begin = 0; begin < count; begin += max_selected_) {
    const int64_t here = std::min(max_selected_, count - begin);
    arguments.first_rank = begin;
    arguments.end_rank = begin + here;
    PS_RETURN_IF_CUDA_ERROR(
        LaunchWriteSelected(passes_.get(), arguments, stream));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(host_indices_, arguments.indices,
                                            here * sizeof(uint32_t),
                                            cudaMemcpyDeviceToHost, stream));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(host_values_, arguments.values,
                                            here * sizeof(float),
                                            cudaMemcpyDeviceToHost, stream));
    PS_RETURN_IF_ERROR(work_->streams().Await(stream));
    std::copy_n(host_indices_, here, selection->indices.begin() + begin);
    std::copy_n(host_values_, here, selection->values.begin() + begin);
  }
  return absl::OkStatus();
}

absl::Status DeviceSidco::Run(const DeviceSidcoRequest& request,
                              const float* residual, const float* gradient,
                              float* out, DeviceSidcoResult* result) {
  PS_RETURN_IF_ERROR(CheckRequest(request, n_));
  PS_RETURN_IF_ERROR(work_->Begin());
  SiftArguments arguments;
  arguments.input.residual = residual;
  arguments.input.gradient = gradient;
  arguments.input.u = out;
  arguments.input.n = n_;
  arguments.input.lists = lists_;
  arguments.made = lists_;
  arguments.stats = work_->stats();
  PS_RETURN_IF_ERROR(QueuePasses(request, arguments));
  PS_RETURN_IF_ERROR(work_->streams().Await(work_->stream()));

  const SidcoPasses& passes = host_->passes;
  if (!passes.done()) {
    return absl::InternalError(absl::StrCat("SIDCo was not done after ",
                                            SidcoPasses::MaxPasses(request),
                                            " passes over ", n_, " elements"));
  }
  *result = DeviceSidcoResult();
  result->outcome = passes.outcome();
  result->moments = passes.moments();
  if (result->outcome != SidcoOutcome::kEstimated) return absl::OkStatus();
  const SidcoSteps& steps = passes.steps();
  result->warm = passes.warm();
  result->threshold = steps.threshold();
  result->stages = steps.stages();
  result->stopped = steps.stopped();
  result->refined = steps.refined();
  if (steps.refined()) result->estimated_count = steps.estimated_count();
  result->refine_reach = steps.refine_reach();
  for (int i = 0; i < passes.num_counted(); ++i) {
    result->counted.push_back(passes.counted(i));
  }
  for (int i = 0; i < passes.num_taken(); ++i) {
    result->steps.push_back(passes.taken(i));
  }
  return FetchSelection(host_->count, arguments.input, &result->selection);
}

}  // namespace ps
