// `gradsieve predict`: what a model takes images for.
#ifndef TOOLS_JUDGE_PREDICT_COMMAND_H_
#define TOOLS_JUDGE_PREDICT_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunPredictCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_JUDGE_PREDICT_COMMAND_H_
