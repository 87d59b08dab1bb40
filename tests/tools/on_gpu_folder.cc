#include "tests/tools/on_gpu_folder.h"

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file.h"

namespace ps {

namespace fs = std::filesystem;

OnGpuFolder::OnGpuFolder() : root_(NewTestDirectory()) {
  fs::copy(ProgramPath("benchmarks"), root_ / "benchmarks",
           fs::copy_options::recursive);
  fs::copy(ProgramPath("deploy"), root_ / "deploy",
           fs::copy_options::recursive);
  for (const char* const program :
       {"nvidia-smi", "compute-sanitizer", "python_with_torch"}) {
    Install(program, absl::StrCat("stand_ins/", program));
  }
  Write("VERSION", "some commit\n");
  Write("TESTS", "");
  fs::create_directories(root_ / "wrong");
}

OnGpuFolder::~OnGpuFolder() { fs::remove_all(root_); }

std::string OnGpuFolder::Read(const std::string& name) const {
  return ReadFile(root_ / name).value_or("");
}

void OnGpuFolder::Write(const std::string& name, const std::string& text) {
  fs::create_directories((root_ / name).parent_path());
  std::ofstream(root_ / name) << text;
  fs::permissions(root_ / name, fs::perms::owner_all);
}

void OnGpuFolder::Install(const std::string& program, const std::string& name) {
  fs::create_directories((root_ / name).parent_path());
  const std::string folder =
      absl::StrContains(program, "/") ? "" : "tests/tools/on_gpu/";
  fs::copy_file(ProgramPath(folder + program), root_ / name);
}

void OnGpuFolder::AddTest(const std::string& name, const std::string& program) {
  std::ofstream(root_ / "TESTS", std::ios::app) << name << "\n";
  Install(program, "bazel-bin/" + name);
}

int OnGpuFolder::RunOnGpu(const std::vector<std::string>& arguments) {
  Start(arguments);
  return Wait();
}

void OnGpuFolder::Start(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {
      "/usr/bin/env",
      "OPENBLAS_CORETYPE=Haswell",
      absl::StrCat("PATH=", (root_ / "stand_ins").string(), ":",
                   std::getenv("PATH")),
      root_ / "benchmarks/on_gpu",
      "--python=python_with_torch",
      "--jobs=2"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  process_ = std::make_unique<TestProcess>(command, root_ / "output");
}

int OnGpuFolder::Terminate() {
  process_->Signal(SIGTERM);
  return Wait();
}

int OnGpuFolder::Wait() {
  const int code = process_->WaitForExit(absl::Seconds(700));
  output_ = process_->Output();
  return code;
}

nlohmann::json OnGpuFolder::Results() const {
  return nlohmann::json::parse(Read("gpu_results/results.json"));
}

}  // namespace ps
