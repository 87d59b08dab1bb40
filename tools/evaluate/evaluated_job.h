// The job, weights and data of a command that evaluates a model or asks it.
#ifndef TOOLS_EVALUATE_EVALUATED_JOB_H_
#define TOOLS_EVALUATE_EVALUATED_JOB_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "common/flags.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

struct EvaluatedJobFlags {
  std::string job;      // A job's file, or a run directory.
  std::string weights;  // Empty: those of the run directory.
  std::string data;     // In place of data.directory; empty: the job's.
  std::string classes;  // A file of class names; may be empty.
  std::vector<std::string> overrides;
};

// Declares the argument JOB and the options that these flags are.
void AddEvaluatedJob(EvaluatedJobFlags* flags, CommandLine* command_line);

struct EvaluatedJob {
  JobConfig config;
  std::string weights;  // A .safetensors file.
  std::string classes;  // A file of class names, if one was named.
};

// Errors: kInvalidArgument if there are no weights to evaluate; those of
// LoadJob.
absl::StatusOr<EvaluatedJob> FindEvaluatedJob(const EvaluatedJobFlags& flags);

struct LoadedModel {
  std::unique_ptr<Backend> backend;  // Outlives the others.
  std::unique_ptr<Model> model;      // With the statistics of the file.
  Tensor weights;
};

// Computes where the job's config says. `data` is the description of the data
// that the model is evaluated on, or empty. Errors: those of the config, the
// device and LoadInitialWeights; kInvalidArgument if a run has written the
// weights whose data had another meaning (MeaningOfNumbers).
absl::StatusOr<LoadedModel> LoadEvaluatedModel(const EvaluatedJob& job,
                                               const ExampleShape& example,
                                               const std::string& data);

}  // namespace ps

#endif  // TOOLS_EVALUATE_EVALUATED_JOB_H_
