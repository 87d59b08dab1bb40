#include "common/flags.h"
#include "tools/command_line/commands.h"

namespace ps {

int RunModelCommand(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve model";
  text.description = "Works with the network of a job (model in the job).";
  text.examples = {
      {"gradsieve model show job.textproto",
       "its layers, their outputs and parameters"},
  };
  const Command commands[] = {
      {"show", "Print its layers, their outputs and parameters.", RunModelShow},
      {"export", "Write it with trained weights as ONNX.", RunModelExport},
      {"import", "Make a network and its weights from ONNX.", RunModelImport},
  };
  return RunCommand(text, commands, argc, argv);
}

}  // namespace ps
