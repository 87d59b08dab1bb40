// `gradsieve bench`: measurements, one command for each subject.
#ifndef TOOLS_BENCH_COMMAND_H_
#define TOOLS_BENCH_COMMAND_H_

namespace ps {

// argv[0] is "bench". Returns the exit code.
int RunBenchCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_COMMAND_H_
