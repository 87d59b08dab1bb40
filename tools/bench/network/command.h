// `gradsieve bench network`.
#ifndef TOOLS_BENCH_NETWORK_COMMAND_H_
#define TOOLS_BENCH_NETWORK_COMMAND_H_

namespace ps {

// argv[0] is "network". Returns the exit code.
int RunBenchNetworkCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_COMMAND_H_
