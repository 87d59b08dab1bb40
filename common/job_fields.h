// Finds the fields of a job by names that people type.
#ifndef COMMON_JOB_FIELDS_H_
#define COMMON_JOB_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ps {

class CommandLine;

// Returns the path of the field, as in "training.epochs", whose name is `word`
// or near it (common/nearest_word.h): of several, one with a short path. The
// name of a group stands for its field `name`: "model" for "model.name". Empty
// if none is near.
std::string NearestField(absl::string_view word);

// Adds the option --set=FIELD=VALUE, which overrides a field of the job; the
// help shows `example`. An unknown option that has the name of a field then
// suggests this option. `overrides` must outlive the command line.
void AddOverrides(CommandLine* command_line,
                  std::vector<std::string>* overrides,
                  const std::string& example = "compressor.ratio=0.001");

}  // namespace ps

#endif  // COMMON_JOB_FIELDS_H_
