// What there is for training on a GPU: driver, devices, CUDA's libraries.
#ifndef TOOLS_DOCTOR_CUDA_FINDINGS_H_
#define TOOLS_DOCTOR_CUDA_FINDINGS_H_

#include "tools/doctor/finding.h"

namespace ps {

// Loads the libraries, and runs a kernel on the first device.
FindingGroup FindCuda();

// The same for a build with the toolkit of this version (CudaBuildVersion),
// which also says what the files of CUDA's libraries are called.
FindingGroup FindCuda(int build_version);

// "13.0" for 13000.
std::string CudaVersionText(int version);

}  // namespace ps

#endif  // TOOLS_DOCTOR_CUDA_FINDINGS_H_
