// `gradsieve bench compressors`.
#ifndef TOOLS_BENCH_COMPRESSORS_COMMAND_H_
#define TOOLS_BENCH_COMPRESSORS_COMMAND_H_

namespace ps {

// argv[0] is "compressors". Returns the exit code.
int RunBenchCompressorsCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_COMMAND_H_
