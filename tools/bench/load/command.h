// `gradsieve bench load`: whether servers can serve many workers for a long
// time, and how long everything takes.
#ifndef TOOLS_BENCH_LOAD_COMMAND_H_
#define TOOLS_BENCH_LOAD_COMMAND_H_

namespace ps {

// argv[0] is "load". Returns the exit code.
int RunBenchLoadCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_COMMAND_H_
