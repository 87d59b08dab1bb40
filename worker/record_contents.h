// Creates the records that RunRecorder writes about a job and about each of its
// pushes.
#ifndef WORKER_RECORD_CONTENTS_H_
#define WORKER_RECORD_CONTENTS_H_

#include <cstdint>

#include "proto/config.pb.h"
#include "worker/run_recorder.h"
#include "worker/run_totals.h"
#include "worker/training_parts.h"

namespace ps {

RunHeader HeaderOf(const JobConfig& config, const TrainingParts& parts);

// Creates the record of a push. `elements` is the number of elements of all
// workers' gradients together. `totals` include this push. The caller must set
// epoch and residual_norm.
IterationRecord RecordOf(const MadePush& outcome, int64_t elements,
                         const RunTotals& totals);

}  // namespace ps

#endif  // WORKER_RECORD_CONTENTS_H_
