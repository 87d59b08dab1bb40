#include "worker/gradient_dump.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<fs::path> DirectoryFor(const GradientDumpOptions& options) {
  if (!options.config.directory().empty()) return options.config.directory();
  if (options.run_directory.empty()) {
    return absl::InvalidArgumentError(
        "training.dump_gradients.directory is empty and there is no run "
        "directory; set one of the two");
  }
  return fs::path(options.run_directory) / "gradients";
}

// Names the config field, since the error ends the job.
absl::Status Explain(const absl::Status& status) {
  return Annotate(status, "training.dump_gradients");
}

}  // namespace

GradientDump::GradientDump(const GradientDumpOptions& options, NpyRowFile file)
    : every_(options.config.every()),
      backend_(options.backend),
      file_(std::move(file)),
      row_(options.num_parameters) {}

absl::StatusOr<std::unique_ptr<GradientDump>> GradientDump::Create(
    const GradientDumpOptions& options) {
  CHECK_GT(options.config.every(), 0);
  PS_ASSIGN_OR_RETURN(const fs::path directory, DirectoryFor(options));
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Explain(absl::ErrnoToStatus(
        error.value(),
        absl::StrCat("cannot make the directory ", directory.string())));
  }
  absl::StatusOr<NpyRowFile> file = NpyRowFile::Create(
      (directory / "gradients.npy").string(), options.num_parameters);
  if (!file.ok()) return Explain(file.status());
  LOG(INFO) << "every " << options.config.every()
            << " iterations worker 0's gradient goes to " << file->path()
            << ", " << options.num_parameters * sizeof(float) << " bytes each";
  return std::unique_ptr<GradientDump>(
      new GradientDump(options, *std::move(file)));
}

absl::Status GradientDump::Iteration(int64_t iteration,
                                     const Tensor& gradient) {
  if (iteration % every_ != 0) return absl::OkStatus();
  PS_RETURN_IF_ERROR(backend_->CopyToHost(gradient, row_.data()));
  return Explain(file_.Append(row_));
}

absl::Status GradientDump::Close() { return Explain(file_.Close()); }

}  // namespace ps
