// Warns of settings in a valid job whose effect is rarely wanted.
#ifndef WORKER_JOB_NOTES_H_
#define WORKER_JOB_NOTES_H_

#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "worker/training_plan.h"

namespace ps {

// Returns a sentence for each: a section for another model or data set than the
// job's, steps of two optimizers, a warm-up that does not end. `config` has
// been validated.
std::vector<std::string> JobNotes(const JobConfig& config,
                                  const TrainingPlan& plan);

}  // namespace ps

#endif  // WORKER_JOB_NOTES_H_
