// What the machine has for training on a GPU: driver, devices, CUDA's
// libraries.
#ifndef TOOLS_DOCTOR_CUDA_FINDINGS_H_
#define TOOLS_DOCTOR_CUDA_FINDINGS_H_

#include "tools/doctor/finding.h"

namespace ps {

// Loads the libraries, and runs a kernel on the first device.
FindingGroup FindCuda();

// The same for a build with the toolkit of this version (CudaBuildVersion),
// which also determines the file names of CUDA's libraries.
FindingGroup FindCuda(int build_version);

// "13.0" for 13000.
std::string CudaVersionText(int version);

}  // namespace ps

#endif  // TOOLS_DOCTOR_CUDA_FINDINGS_H_
