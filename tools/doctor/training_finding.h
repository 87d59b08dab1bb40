// Whether training works here, found out by training.
#ifndef TOOLS_DOCTOR_TRAINING_FINDING_H_
#define TOOLS_DOCTOR_TRAINING_FINDING_H_

#include "absl/time/time.h"
#include "tools/doctor/finding.h"

namespace ps {

// Trains a small job for a few iterations on the CPU, with this program, one
// server and one worker as processes of this machine; gives up after `timeout`.
FindingGroup FindTraining(absl::Duration timeout);

}  // namespace ps

#endif  // TOOLS_DOCTOR_TRAINING_FINDING_H_
