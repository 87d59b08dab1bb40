// A folder in which benchmarks/on_gpu runs, with stand-ins for what tests do
// not have: nvidia-smi, compute-sanitizer, PyTorch, and its own programs.
#ifndef TESTS_TOOLS_ON_GPU_FOLDER_H_
#define TESTS_TOOLS_ON_GPU_FOLDER_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cluster/test_process.h"

namespace ps {

class OnGpuFolder {
 protected:
  // With the scripts of benchmarks, and the stand-ins in PATH.
  OnGpuFolder();
  ~OnGpuFolder();

  const std::filesystem::path& root() const { return root_; }
  std::string Read(const std::string& name) const;
  // Writes a program or another file.
  void Write(const std::string& name, const std::string& text);
  // Copies a program of tests/tools/on_gpu, or one with a path of this
  // repository.
  void Install(const std::string& program, const std::string& name);
  // The same, for a test program.
  void AddTest(const std::string& name, const std::string& program);

  // Runs on_gpu, and returns its exit code.
  int RunOnGpu(const std::vector<std::string>& arguments);
  void Start(const std::vector<std::string>& arguments);
  int Terminate();  // Ends what was started, and returns its exit code.
  const std::string& output() const { return output_; }
  nlohmann::json Results() const;

 private:
  int Wait();

  const std::filesystem::path root_;
  std::unique_ptr<TestProcess> process_;
  std::string output_;
};

}  // namespace ps

#endif  // TESTS_TOOLS_ON_GPU_FOLDER_H_
