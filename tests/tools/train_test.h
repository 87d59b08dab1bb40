// `gradsieve train` of a small job, in a folder of the test.
#ifndef TESTS_TOOLS_TRAIN_TEST_H_
#define TESTS_TOOLS_TRAIN_TEST_H_

#include <fstream>
#include <string>
#include <vector>

#include "tests/tools/command_runner.h"

namespace ps {

inline constexpr char kShortJob[] = R"(
  name: "short"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training { batch_size: 8 epochs: 10 max_iterations: 25 }
  cluster { num_workers: 2 num_servers: 1 }
)";

class TrainTest : public CommandTest {
 protected:
  TrainTest() { std::ofstream(Path("job.textproto")) << kShortJob; }

  // Trains the job with these arguments into the folder "run"; see Gradsieve.
  int Train(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", Path("job.textproto"),
                                          "--run-dir=" + Path("run")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Gradsieve(arguments);
  }
};

}  // namespace ps

#endif  // TESTS_TOOLS_TRAIN_TEST_H_
