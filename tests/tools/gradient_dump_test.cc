// A job's dump of real gradients, and `gradsieve compress` on it.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/file.h"
#include "formats/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 784 x 8 + 8 and 8 x 10 + 10 parameters.
constexpr int64_t kParameters = 6370;
constexpr char kJob[] = R"(
  name: "dump"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training {
    batch_size: 8
    max_iterations: 7
    # Buckets are compressed apart and dumped together.
    bucket_megabytes: 0.001
    dump_gradients { every: 3 }
  }
  compressor { name: "topk" ratio: 0.01 }
  cluster { num_workers: 2 num_servers: 1 }
)";

class GradientDumpCommand : public CommandTest {
 protected:
  GradientDumpCommand() { std::ofstream(Path("job.textproto")) << kJob; }
};

TEST_F(GradientDumpCommand, DumpedGradientsCompress) {
  ASSERT_EQ(
      Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("run")}),
      0)
      << output();
  const std::string dump = Path("run/gradients/gradients.npy");
  const auto gradients = ReadNpy<float>(dump);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  ASSERT_THAT(gradients->shape, ElementsAre(3, kParameters));
  // The last bias belongs to a class that is almost never missing from a batch.
  for (int row = 0; row < 3; ++row) {
    EXPECT_NE(gradients->elements[(row + 1) * kParameters - 1], 0) << row;
  }
  ASSERT_EQ(Gradsieve({"compress", "--compressor=name: \"topk\" ratio: 0.1",
                       "--gradient=" + dump, "--output=" + Path("out")}),
            0)
      << output();
  const auto summary =
      nlohmann::json::parse(*ReadFile(Path("out/summary.json")));
  ASSERT_EQ(summary["iterations"].size(), 3);
  for (const auto& iteration : summary["iterations"]) {
    EXPECT_EQ(iteration["count"], 637);
    EXPECT_GT(iteration["threshold"], 0);
  }
}

TEST_F(GradientDumpCommand, ADumpThatCannotBeWrittenEndsTheJobWithTheReason) {
  std::ofstream(Path("taken")) << "a file";
  EXPECT_EQ(
      Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("run"),
                 "--set=training.dump_gradients.directory=" + Path("taken")}),
      78);
  EXPECT_THAT(output(), AllOf(HasSubstr("training.dump_gradients"),
                              HasSubstr(Path("taken"))));
  EXPECT_EQ(Gradsieve({"train", Path("job.textproto"), "--check",
                       "--set=training.dump_gradients.every=-1"}),
            78);
  EXPECT_THAT(output(), HasSubstr("training.dump_gradients.every is -1; must"));
}

}  // namespace
}  // namespace ps
