// `gradsieve bench load`: whether servers stand many workers for long, and how
// long everything takes then.
#ifndef TOOLS_BENCH_LOAD_COMMAND_H_
#define TOOLS_BENCH_LOAD_COMMAND_H_

namespace ps {

// argv[0] is "load". Returns the exit code.
int RunBenchLoadCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_COMMAND_H_
