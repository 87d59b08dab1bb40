// `gradsieve model export` and `gradsieve model import`: ONNX files.
#ifndef TOOLS_MODEL_ONNX_COMMANDS_H_
#define TOOLS_MODEL_ONNX_COMMANDS_H_

namespace ps {

// Both return the exit code.
int RunModelExport(int argc, char** argv);
int RunModelImport(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_MODEL_ONNX_COMMANDS_H_
