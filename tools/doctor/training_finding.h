// Finds out whether training works on this machine, by training.
#ifndef TOOLS_DOCTOR_TRAINING_FINDING_H_
#define TOOLS_DOCTOR_TRAINING_FINDING_H_

#include "absl/time/time.h"
#include "tools/doctor/finding.h"

namespace ps {

// Trains a small job for a few iterations on the CPU, with this program and one
// server and one worker as processes on this machine. Gives up after `timeout`.
FindingGroup FindTraining(absl::Duration timeout);

}  // namespace ps

#endif  // TOOLS_DOCTOR_TRAINING_FINDING_H_
