// The findings of `gradsieve doctor`, each about one subject.
#ifndef TOOLS_DOCTOR_FINDINGS_H_
#define TOOLS_DOCTOR_FINDINGS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace ps {

struct Finding {
  std::string subject;    // "cuDNN"; at most 14 characters.
  std::string text = {};  // What was found, or what is missing and why.
  // What does not work because of it, and what to do; empty if nothing is
  // missing.
  std::string consequence = {};
  // Whether even training on the CPU needs it.
  bool required = false;

  bool missing() const { return !consequence.empty(); }
};

struct FindingGroup {
  std::string title;
  std::vector<Finding> findings = {};
};

// Lines of at most about 80 characters, which mark what is missing.
std::string FormatFindings(const FindingGroup& group);

// The machine: kernel, C library, processor, memory, network.
FindingGroup FindMachine();

// What it has for training on a GPU: driver, devices, CUDA's libraries. Loads
// the libraries, and runs a kernel on the first device.
FindingGroup FindCuda();

// The same for a build with the toolkit of this version (CudaSupport),
// which also determines the file names of CUDA's libraries.
FindingGroup FindCuda(int build_version);

// "13.0" for 13000.
std::string CudaVersionText(int version);

// Whether training works: trains a small job for a few iterations on the CPU,
// with this program and one server and one worker as processes on this machine.
// Gives up after `timeout`.
FindingGroup FindTraining(absl::Duration timeout);

}  // namespace ps

#endif  // TOOLS_DOCTOR_FINDINGS_H_
