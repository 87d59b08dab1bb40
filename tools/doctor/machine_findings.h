// Findings about the machine: kernel, C library, processor, memory, network.
#ifndef TOOLS_DOCTOR_MACHINE_FINDINGS_H_
#define TOOLS_DOCTOR_MACHINE_FINDINGS_H_

#include "tools/doctor/finding.h"

namespace ps {

FindingGroup FindMachine();

}  // namespace ps

#endif  // TOOLS_DOCTOR_MACHINE_FINDINGS_H_
