// `gradsieve model` as a process.
#include <cstdint>
#include <fstream>
#include <string>

#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr char kJob[] = R"(
  name: "short"
  model { name: "lenet5" }
  data { name: "digits" digits { train_examples: 64 test_examples: 50 } }
  training { batch_size: 8 epochs: 1 }
  cluster { num_workers: 1 num_servers: 1 }
)";

class ModelCommand : public CommandTest {
 protected:
  ModelCommand() { Write("job.textproto", kJob); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(Path(name)) << text;
  }
};

TEST_F(ModelCommand, ShowPrintsATableOfTheLayers) {
  ASSERT_EQ(Gradsieve({"model", "show", Path("job.textproto")}), 0) << output();
  EXPECT_THAT(
      output(),
      AllOf(HasSubstr("conv1  convolution { out_channels: 6 kernel_size: 5 "
                      "padding: 2 }"),
            HasSubstr("[batch, 6, 28, 28]         156\n"),
            HasSubstr("6      flatten"), HasSubstr("[batch, 400]"),
            HasSubstr("48,120"), HasSubstr("\n61,706 parameters\n")));
}

TEST_F(ModelCommand, ImportCallsOtherFilesByName) {
  Write("photo.onnx", "\xff\xd8\xff\xe0");
  EXPECT_EQ(Gradsieve({"model", "import", Path("photo.onnx"),
                       "--output=" + Path("net")}),
            1);
  EXPECT_THAT(output(),
              HasSubstr("photo.onnx: the file is no ONNX model; it is "
                        "a JPEG image"));
}

TEST_F(ModelCommand, ShowKnowsBlocksAndStatistics) {
  ASSERT_EQ(Gradsieve({"model", "show", Path("job.textproto"),
                       "--set=model.name=resnet20"}),
            0)
      << output();
  EXPECT_THAT(output(),
              AllOf(ContainsRegex("layer2\\.0 +residual "),
                    ContainsRegex("  layer2\\.0\\.conv1 +convolution \\{ "
                                  "out_channels: 32 kernel_size: 3 stride: 2 "
                                  "padding: 1 bias: false \\} "),
                    HasSubstr("[batch, 32, 14, 14]"),
                    HasSubstr("269,434 parameters, and 1,376 running means and "
                              "variances")));
}

TEST_F(ModelCommand, JsonHasTheSums) {
  ASSERT_EQ(Gradsieve({"model", "show", Path("job.textproto"), "--json"}), 0)
      << output();
  const auto json = nlohmann::json::parse(output(), nullptr, false);
  ASSERT_TRUE(json.is_object()) << output();
  EXPECT_EQ(json["parameters"], 61706);
  EXPECT_EQ(json["input"], "[batch, 1, 28, 28]");
  int64_t sum = 0;
  for (const auto& layer : json["layers"]) {
    sum += layer["parameters"].get<int64_t>();
  }
  EXPECT_EQ(sum, 61706);
  EXPECT_EQ(json["layers"][0]["name"], "conv1");
  EXPECT_EQ(json["layers"][0]["parameters"], 156);
}

TEST_F(ModelCommand, LayersAreANetworkToChange) {
  ASSERT_EQ(Gradsieve({"model", "show", Path("job.textproto"), "--layers"}), 0)
      << output();
  std::string job = kJob;
  const std::string zoo = "model { name: \"lenet5\" }";
  job.replace(job.find(zoo), zoo.size(), output());
  Write("own.textproto", job);
  ASSERT_EQ(Gradsieve({"model", "show", Path("job.textproto")}), 0);
  const std::string table = output();
  ASSERT_EQ(Gradsieve({"model", "show", Path("own.textproto")}), 0) << output();
  EXPECT_EQ(output(), table);
}

TEST_F(ModelCommand, ARunStandsForItsJobAndWeights) {
  const std::string run = Path("run");
  ASSERT_EQ(Gradsieve({"train", Path("job.textproto"), "--run-dir=" + run}), 0)
      << output();
  ASSERT_EQ(Gradsieve({"model", "show", Path("job.textproto")}), 0);
  const std::string table = output();
  ASSERT_EQ(Gradsieve({"model", "show", run}), 0) << output();
  EXPECT_EQ(output(), table);
  const std::string of_run = Path("run.onnx");
  const std::string by_name = Path("by_name.onnx");
  ASSERT_EQ(Gradsieve({"model", "export", run, "--output=" + of_run}), 0)
      << output();
  ASSERT_EQ(Gradsieve({"model", "export", Path("job.textproto"),
                       "--weights=" + run + "/weights.safetensors",
                       "--output=" + by_name}),
            0)
      << output();
  EXPECT_GT(ReadFile(of_run)->size(), 4 * 61706);
  EXPECT_EQ(*ReadFile(of_run), *ReadFile(by_name));
  EXPECT_EQ(Gradsieve({"model", "export", Path("job.textproto"),
                       "--output=" + Path("none.onnx")}),
            78);
  EXPECT_THAT(output(), HasSubstr("is not a run directory"));
}

TEST_F(ModelCommand, MistakesAreReportedAllAtOnce) {
  Write("wrong.textproto", R"(
      model { name: "layers" layers {
        layer { convolution { out_channels: 4 kernel_size: 29 } }
        layer { name: "out" linear {} } } }
      data { name: "digits" digits { train_examples: 64 test_examples: 50 } }
      training { batch_size: 8 epochs: 1 })");
  EXPECT_EQ(Gradsieve({"model", "show", Path("wrong.textproto")}), 78)
      << output();
  EXPECT_THAT(output(), HasSubstr("put `layer { flatten {} }` before it"));
  EXPECT_EQ(Gradsieve({"model", "shew"}), 64);
  EXPECT_THAT(output(), HasSubstr("did you mean \"show\"?"));
}

}  // namespace
}  // namespace ps
