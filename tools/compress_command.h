// `gradsieve compress`: applies a compressor to gradients in a file.
#ifndef TOOLS_COMPRESS_COMMAND_H_
#define TOOLS_COMPRESS_COMMAND_H_

namespace ps {

// argv[0] is "compress". Returns the exit code.
int RunCompressCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_COMPRESS_COMMAND_H_
