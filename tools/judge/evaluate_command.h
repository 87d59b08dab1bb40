// `gradsieve evaluate`: how good weights are on data.
#ifndef TOOLS_JUDGE_EVALUATE_COMMAND_H_
#define TOOLS_JUDGE_EVALUATE_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunEvaluateCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_JUDGE_EVALUATE_COMMAND_H_
