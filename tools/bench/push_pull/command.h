// `gradsieve bench push-pull`: how fast gradients reach a parameter server and
// weights come back, compared with plain TCP.
#ifndef TOOLS_BENCH_PUSH_PULL_COMMAND_H_
#define TOOLS_BENCH_PUSH_PULL_COMMAND_H_

namespace ps {

// argv[0] is "push-pull". Returns the exit code.
int RunBenchPushPullCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_COMMAND_H_
