// Tests of job files: which ones are rejected, what an override may set, and
// that a job written out in full is the same job.
#include "common/config.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(ParseConfigTest, DefaultsAreValid) {
  const auto config = ParseConfig("", "empty");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(ValidateConfig(*config).ok()) << ValidateConfig(*config);
}

TEST(ParseConfigTest, ProblemsHaveFileLineAndColumn) {
  const struct {
    std::string text;
    std::string place;
  } cases[] = {
      {"name: \"a\"\ntraining {\n  batchsize: 3\n}\n", "job.textproto:3:3: "},
      {"nonsense", "job.textproto:1:9: "},
      {"seed: \"one\"", "job.textproto:1:7: "},
      {"seed: 1\nseed: 2", "job.textproto:2:1: "},
      {"training { batch_size: 64", "job.textproto:1:26: "},
      {"compressor { sidco { profile: GOOD } }", "job.textproto:1:31: "},
  };
  for (const auto& c : cases) {
    const absl::Status status = ParseConfig(c.text, "job.textproto").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.text;
    EXPECT_THAT(Message(status), HasSubstr(c.place)) << c.text;
  }
  EXPECT_THAT(Message(ParseConfig(cases[0].text, "x").status()),
              HasSubstr("batchsize"));
}

TEST(ParseConfigTest, AMisspeltFieldIsNamedWithTheNearest) {
  EXPECT_EQ(Message(ParseConfig("training { batchsize: 3 }", "x").status()),
            "x:1:12: training has no field \"batchsize\"; did you mean "
            "\"batch_size\"?");
  EXPECT_THAT(Message(ParseConfig("zzzzzzzz: 3", "x").status()),
              HasSubstr("there is no field \"zzzzzzzz\"; known are: name, "));
  EXPECT_EQ(Message(ParseConfig("epochs: 3", "x").status()),
            "x:1:1: there is no field \"epochs\"; did you mean "
            "training.epochs?");
  EXPECT_EQ(Message(ParseConfig("optimizer { lr: 3 }", "x").status()),
            "x:1:13: optimizer has no field \"lr\"; did you mean "
            "\"learning_rate\"?");
}

TEST(ParseConfigTest, CharactersThatAreNotAsciiAreExplained) {
  EXPECT_THAT(Message(ParseConfig("name: \xc3\xa9", "x").status()),
              HasSubstr("x:1:7: this character may only be in quotes"));
}

TEST(ParseConfigTest, AllProblemsAreReported) {
  EXPECT_EQ(Message(ParseConfig(R"(training {
  batchsize: 3  # one
  epochs: "three"
}
compressor { raito: 0.1 sidco { profile: GOOD } }
cluster { num_workers: 2 num_workers: 3 num_servers: -x }
seed: -1
model { name: 5 mlp: 7 }
compressor { name: "topk" }
)",
                                "job")
                        .status()),
            "job:2:3: training has no field \"batchsize\"; did you mean "
            "\"batch_size\"?\n"
            "job:3:11: training.epochs is \"three\"; must be a whole number "
            "that fits its type\n"
            "job:5:14: compressor has no field \"raito\"; did you mean "
            "\"ratio\"?\n"
            "job:5:42: compressor.sidco.profile is GOOD; must be one of "
            "ROBUST, PAPER\n"
            "job:6:26: cluster.num_workers is set twice; it takes one value\n"
            "job:6:54: cluster.num_servers is -x; must be a whole number that "
            "fits its type\n"
            "job:7:7: seed is -1; must be a whole number of at least 0 that "
            "fits its type\n"
            "job:8:15: model.name is 5; must be a text in quotes\n"
            "job:8:22: model.mlp is 7; must be a group: mlp { ... }\n"
            "job:9:1: compressor is set twice; it takes one value");
}

TEST(ParseConfigTest, ATextThatEndsInsideAGroupSaysWhichOne) {
  EXPECT_EQ(
      Message(
          ParseConfig("seed: 1\ntraining {\n  epochs: 2\n", "job").status()),
      "job:4:1: the text ends, but \"training {\" of line 2 is not "
      "closed; a \"}\" is missing");
  EXPECT_EQ(
      Message(
          ParseConfig("training {\n  epochs: 2\ncluster { num_workers: 2 }\n",
                      "job")
              .status()),
      "job:3:1: training has no field \"cluster\"; there is one at the top: "
      "is a \"}\" missing before it?\n"
      "job:4:1: the text ends, but \"training {\" of line 1 is not closed; a "
      "\"}\" is missing");
  EXPECT_THAT(
      Message(ParseConfig("training { epochs: 2 }\n}\n", "job").status()),
      HasSubstr("job:2:1: this \"}\" closes nothing"));
}

TEST(ParseCompressorConfigTest, ReadsWhatStandsBetweenTheBraces) {
  const auto config = ParseCompressorConfig("name: 'topk' ratio: 0.5", "x");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->name(), "topk");
  EXPECT_EQ(config->ratio(), 0.5);
  EXPECT_THAT(
      Message(ParseCompressorConfig("nam: 'topk'", "there").status()),
      AllOf(HasSubstr("there:1:1: "), HasSubstr("did you mean \"name\"?")));
}

TEST(LoadConfigTest, AMissingFileIsNamed) {
  const absl::Status status =
      LoadConfig(testing::TempDir() + "/no_such.textproto").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("no_such.textproto"));
}

TEST(LoadConfigTest, ReadsAFileAndNamesItInErrors) {
  const std::string path = testing::TempDir() + "/job.textproto";
  ASSERT_TRUE(WriteFileAtomically(path, "seed: 7\n").ok());
  const auto config = LoadConfig(path);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->seed(), 7u);
  // Some editors begin UTF-8 with a byte order mark.
  ASSERT_TRUE(WriteFileAtomically(path, "\xEF\xBB\xBFseed: 8\n").ok());
  EXPECT_EQ(LoadConfig(path).value_or(JobConfig()).seed(), 8u);
  ASSERT_TRUE(WriteFileAtomically(path, "sed: 7\n").ok());
  EXPECT_THAT(Message(LoadConfig(path).status()), HasSubstr(path + ":1:"));
}

TEST(LoadJobTest, ReportsTextOverridesAndValuesAtOnce) {
  const std::string path = testing::TempDir() + "/wrong.textproto";
  ASSERT_TRUE(WriteFileAtomically(path, R"(sed: 7
training {
  epochs: 0
  batch_size: 1
}
cluster {
  servers: "a:1"
  servers: "b"
  num_servers: 2
  connections: 65
})")
                  .ok());
  const absl::Status status =
      LoadJob(path, {"training.batch_size=0", "nothing=1"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  const std::string message = Message(status);
  EXPECT_THAT(message,
              StartsWith(absl::StrCat(
                  path, " is not a valid job:\n", path,
                  ":1:1: there is no field \"sed\"; did you mean "
                  "\"seed\"?\noverride \"nothing=1\": there is no field "
                  "\"nothing\"; known here are: ")));
  for (const std::string line :
       {"\n--set: training.batch_size is 0; must be at least 1\n",
        "wrong.textproto:3: training.epochs is 0; must be at least 1\n",
        "wrong.textproto:8: cluster.servers[1] is \"b\"; must be host:port",
        "wrong.textproto:10: cluster.connections is 65; must be in [1, 64]"}) {
    EXPECT_THAT(message, HasSubstr(line));
  }
}

TEST(ValidateConfigTest, ReportsEveryProblemWithFieldValueAndRule) {
  const auto config = ParseConfig(R"(
      training {
        batch_size: 0 epochs: -1 max_iterations: -2 evaluate_every_epochs: -3
        evaluate_every_iterations: -1
        early_stopping { patience: -1 min_delta: -0.1 }
        bucket_megabytes: -0.5 dump_gradients { every: -4 } trace_iteration: -2
      }
      cluster {
        num_workers: 1025 num_servers: 0 max_slice_elements: 1000
        servers: "a:1" servers: "b"  servers: "c:65536" servers: ":7"
        startup_timeout_seconds: 0 lost_worker_timeout_seconds: -1
        lost_server_timeout_seconds: inf
      }
      machine {
        worker_threads: -1 server_threads: 0
        loader_threads: 257 prefetch_batches: 0
        device: "gpu" device_memory_megabytes: -1 workers_on_machine: 0
      })",
                                  "job");
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::Status status = ValidateConfig(*config);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  const std::string expected[] = {
      "training.batch_size is 0; must be at least 1",
      "training.epochs is -1; must be at least 1",
      "training.max_iterations is -2; must be at least 0 (0: no limit)",
      "training.evaluate_every_epochs is -3; must be at least 0",
      "training.evaluate_every_iterations is -1; must be at least 0",
      "training.early_stopping.patience is -1; must be at least 0 (0: never)",
      "training.early_stopping.min_delta is -0.1; must be at least 0",
      "training.bucket_megabytes is -0.5; must be at least 0",
      "training.dump_gradients.every is -4; must be at least 0 (0: none)",
      "training.trace_iteration is -2; must be at least 0",
      "cluster.num_workers is 1025; must be in [1, 1024]",
      "cluster.num_servers is 0; must be in [1, 256]",
      "cluster.max_slice_elements is 1000; must be in [1024, 16777216]",
      "cluster.servers is a list of 4 addresses; must be one for each of the 0 "
      "servers",
      "cluster.servers[1] is \"b\"; must be host:port",
      "cluster.servers[2] is \"c:65536\"; must be host:port",
      "cluster.servers[3] is \":7\"; must be host:port",
      "cluster.startup_timeout_seconds is 0; must be above 0",
      "cluster.lost_worker_timeout_seconds is -1; must be above 0",
      "cluster.lost_server_timeout_seconds is inf; must be finite and above 0",
      "machine.worker_threads is -1; must be in [0, 1024]",
      "machine.server_threads is 0; must be in [1, 1024]",
      "machine.loader_threads is 257; must be in [0, 256]",
      "machine.prefetch_batches is 0; must be in [1, 1024]",
      "machine.device is \"gpu\"; must be \"auto\", \"cpu\", \"cuda\" or "
      "\"cuda:N\" with N in [0, 1023]",
      "machine.device_memory_megabytes is -1; must be in [0, 16777216]",
      "machine.workers_on_machine is 0; must be at least 1",
  };
  size_t lines = 1;
  for (const char c : Message(status)) lines += c == '\n';
  EXPECT_EQ(lines, std::size(expected)) << status;
  for (const std::string& line : expected) {
    EXPECT_THAT(Message(status), HasSubstr(line));
  }
}

TEST(ValidateConfigTest, AcceptsAddressesOfEveryKind) {
  JobConfig config;
  config.mutable_cluster()->set_num_servers(4);
  for (const char* address :
       {"localhost:0", "10.0.0.1:65535", "[::1]:80", "ps-0.ps.svc:7000"}) {
    config.mutable_cluster()->add_servers(address);
  }
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
}

TEST(ValidateConfigTest, OnlyCudaHasAnotherPrecision) {
  JobConfig config;
  for (const auto precision : {TrainingConfig::TF32, TrainingConfig::BF16}) {
    config.mutable_training()->set_precision(precision);
    for (const char* device : {"auto", "cuda", "cuda:1"}) {
      config.mutable_machine()->set_device(device);
      EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
    }
    config.mutable_machine()->set_device("cpu");
    EXPECT_THAT(
        Message(ValidateConfig(config)),
        HasSubstr(absl::StrCat(
            "training.precision is ", TrainingConfig::Precision_Name(precision),
            "; must be FP32 where machine.device is \"cpu\"")));
  }
  config.mutable_training()->set_precision(TrainingConfig::FP32);
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
}

TEST(ValidateConfigTest, CudnnsRecurrentLayersAreNotDeterministic) {
  JobConfig config;
  config.mutable_machine()->set_cudnn_recurrent(true);
  EXPECT_THAT(Message(ValidateConfig(config)),
              HasSubstr("machine.cudnn_recurrent is true; must be false unless "
                        "machine.deterministic is false"));
  config.mutable_machine()->set_deterministic(false);
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
}

TEST(ApplyOverrideTest, SetsFieldsOfEveryKind) {
  JobConfig config;
  for (const char* assignment :
       {"name=my job", "seed=42", "compressor.ratio=1e-3",
        "compressor.error_feedback=false", "compressor.sidco.profile=PAPER",
        "training.non_finite=SKIP", "training.max_iterations=-5",
        "cluster.num_workers = 7 ",
        "data.directory=", "model.mlp.hidden_units=128, 64,32",
        "schedule.milestones=1,2", "cluster.servers=a:1, b:2"}) {
    const absl::Status status = ApplyOverride(assignment, &config);
    EXPECT_TRUE(status.ok()) << status;
  }
  const auto expected = ParseConfig(R"(
      name: "my job" seed: 42 training { non_finite: SKIP max_iterations: -5 }
      compressor { ratio: 0.001 error_feedback: false sidco { profile: PAPER } }
      cluster { num_workers: 7 servers: "a:1" servers: "b:2" }
      data { directory: "" } schedule { milestones: 1 milestones: 2 }
      model { mlp { hidden_units: 128 hidden_units: 64 hidden_units: 32 } })",
                                    "expected");
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_TRUE(MessageDifferencer::Equals(config, *expected))
      << config.DebugString();
}

TEST(ApplyOverrideTest, SetsFieldsOfElementsOfLists) {
  JobConfig config;
  LayersConfig& layers = *config.mutable_model()->mutable_layers();
  layers.add_layer()->set_activation("relu");
  layers.add_layer()->mutable_linear()->set_out_features(3);
  ASSERT_TRUE(
      ApplyOverride("model.layers.layer[1].linear.out_features=7", &config)
          .ok());
  EXPECT_EQ(config.model().layers().layer(1).linear().out_features(), 7);
}

TEST(ApplyOverrideTest, ReplacesWhatWasThere) {
  JobConfig config;
  config.mutable_schedule()->add_milestones(5);
  config.set_name("before");
  ASSERT_TRUE(ApplyOverride("schedule.milestones=9", &config).ok());
  EXPECT_THAT(config.schedule().milestones(), ElementsAre(9));
  ASSERT_TRUE(ApplyOverride("schedule.milestones=", &config).ok());
  EXPECT_THAT(config.schedule().milestones(), IsEmpty());
  ASSERT_TRUE(ApplyOverride("name=", &config).ok());
  EXPECT_EQ(config.name(), "");
}

TEST(ApplyOverrideTest, StringsAreTakenAsTheyAre) {
  JobConfig config;
  for (const std::string text :
       {"a=b", "with \"quotes\" inside", "back\\slash", "x\" seed: 5 #",
        "line\nbreak", "gr\xc3\xbc\xc3\x9f", "a,b"}) {
    const absl::Status status = ApplyOverride("name=" + text, &config);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(config.name(), text);
  }
  ASSERT_TRUE(ApplyOverride("name=\"in quotes\"", &config).ok());
  EXPECT_EQ(config.name(), "in quotes");
  EXPECT_EQ(config.seed(), JobConfig().seed());
}

TEST(ApplyOverrideTest, ErrorsSayWhatWouldBeRight) {
  const struct {
    std::string assignment;
    std::string message;
  } cases[] = {
      {"seed", "has no '='"},
      {"=5", "there is no field \"\"; known here are: name, seed, model"},
      {"sede=1",
       "there is no field \"sede\"; did you mean \"seed\"? Known here are: "
       "name, seed"},
      {"training.zz=1", "no field \"zz\"; known here are: batch_size, epochs"},
      {"training.bs=1", "no field \"bs\"; did you mean \"batch_size\"?"},
      {"epochs=1", "no field \"epochs\"; did you mean \"training.epochs\"?"},
      {"optimizer.lr=1", "no field \"lr\"; did you mean \"learning_rate\"?"},
      {"consistency.mode=async",
       "ASYNCHRONOUS; did you mean \"ASYNCHRONOUS\"?"},
      {"seed.x=1", "\"seed\" is a single value and has no field \"x\""},
      {"training=1", "\"training\" is a group of fields; set one of: batch_"},
      {"model.layers.layer.name=x", "\"layer\" is a list of 0 elements"},
      {"model.layers.layer[2].name=x", "name one of them, as in layer[0]"},
      {"model.layers.layer[-1].name=x", "there is no field \"layer[-1]\""},
      {"training[0].epochs=1", "\"training\" is not a list"},
      {"training.=1", "there is no field \"\""},
      {"seed=-1", "\"-1\" is not a value of seed, which is of type uint64"},
      {"seed=", "\"\" is not a value of seed"},
      {"seed=1 name: \"x\"", "is not a value of seed"},
      {"compressor.ratio=half",
       "\"half\" is not a value of compressor.ratio, "
       "which is of type double"},
      {"compressor.ratio=1%", "of type double; did you mean 0.01?"},
      {"optimizer.learning_rate=0,5", "of type double; did you mean 0.5?"},
      {"compressor.ratio=0.5, name: \"topk\"", "is not a value of compressor"},
      {"training.non_finite=STOP", "which is one of SKIP, FAIL"},
      {"training.batch_size=99999999999",
       "is not a value of training.batch_size"},
      {"compressor.error_feedback=maybe", "which is of type bool"},
      {"schedule.milestones=1,x",
       "\"x\" is not a value of schedule.milestones"},
  };
  for (const auto& c : cases) {
    JobConfig config;
    config.mutable_training()->set_batch_size(3);
    config.mutable_schedule()->add_milestones(4);
    const JobConfig before = config;
    const absl::Status status = ApplyOverride(c.assignment, &config);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.assignment;
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr(absl::StrCat("\"", c.assignment, "\"")),
                      HasSubstr(c.message)));
    EXPECT_TRUE(MessageDifferencer::Equals(config, before)) << c.assignment;
  }
}

TEST(ResolvedConfigTextTest, SaysEveryFieldAndIsTheSameJob) {
  const auto config = ParseConfig(R"(
      name: "quoted \"name\"" compressor { ratio: 0.1 name: "topk" }
      model { mlp { hidden_units: 5 } } cluster { servers: "a:1" }
      optimizer { learning_rate: 0.30000000000000004 }
      machine { worker_threads: 3 })",
                                  "job");
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string text = ResolvedConfigText(*config);
  for (const char* line :
       {"seed: 1\n", "batch_size: 64\n", "non_finite: FAIL\n",
        "index_code: \"auto\"\n", "learning_rate: 0.30000000000000004\n",
        "ratio: 0.1\n", "worker_threads: 3\n", "server_threads: 2\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const auto read = ParseConfig(text, "resolved");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ResolvedConfigText(*read), text);
  EXPECT_EQ(SharedConfigText(*read), SharedConfigText(*config));
}

// sidco.rule and similar fields take their default from sidco.profile.
TEST(ResolvedConfigTextTest, LeavesOutWhatAProfileDecides) {
  JobConfig config;
  EXPECT_THAT(
      ResolvedConfigText(config),
      AllOf(HasSubstr("profile: ROBUST"), Not(HasSubstr("start_stages")),
            Not(HasSubstr("count_correction"))));
  config.mutable_compressor()->mutable_sidco()->set_overshoot_cap(0);
  EXPECT_THAT(ResolvedConfigText(config), HasSubstr("overshoot_cap: 0"));
}

TEST(ResolvedConfigTextTest, AddsNoSectionThatIsChosenByItsPresence) {
  JobConfig config;
  const auto absent = [](const std::string& name) {
    return Not(HasSubstr(name + " {"));
  };
  EXPECT_THAT(ResolvedConfigText(config),
              AllOf(absent("worker_optimizer"), absent("layer_parallel")));
  config.mutable_training()->mutable_layer_parallel();
  EXPECT_THAT(ResolvedConfigText(config),
              AllOf(HasSubstr("layer_parallel {"), absent("aux_network")));
}

TEST(SharedConfigTextTest, LeavesOutWhatMachinesMayDifferIn) {
  JobConfig a;
  JobConfig b;
  b.mutable_machine()->set_worker_threads(9);
  b.mutable_cluster()->add_servers("elsewhere:1");
  b.mutable_data()->set_directory("/elsewhere");
  EXPECT_EQ(SharedConfigText(a), SharedConfigText(b));
  b.mutable_data()->set_name("mnist");
  EXPECT_NE(SharedConfigText(a), SharedConfigText(b));
}

TEST(SharedConfigTextTest, ADefaultWrittenOutChangesNothing) {
  JobConfig written;
  written.mutable_training()->set_batch_size(TrainingConfig().batch_size());
  EXPECT_EQ(SharedConfigText(written), SharedConfigText(JobConfig()));
}

TEST(DescribeConfigDifferencesTest, NamesEachFieldWithBothValues) {
  JobConfig here;
  JobConfig there;
  EXPECT_THAT(DescribeConfigDifferences(SharedConfigText(here),
                                        SharedConfigText(there)),
              IsEmpty());
  there.set_name("other");
  there.mutable_compressor()->mutable_sidco()->set_stages(2);
  there.mutable_compressor()->mutable_sidco()->set_overshoot_cap(1.5);
  here.mutable_model()->mutable_mlp()->add_hidden_units(8);
  here.mutable_model()->mutable_mlp()->add_hidden_units(9);
  EXPECT_THAT(
      DescribeConfigDifferences(SharedConfigText(here),
                                SharedConfigText(there)),
      ElementsAre("compressor.sidco.overshoot_cap: 1.5 there and (unset) here",
                  "compressor.sidco.stages: 2 there and 0 here",
                  "model.mlp.hidden_units: (unset) there and 8,9 here",
                  "name: \"other\" there and \"job\" here"));
}

TEST(DescribeConfigDifferencesTest, ElementsOfListsHaveNumbers) {
  JobConfig here;
  JobConfig there;
  for (JobConfig* job : {&here, &there}) {
    job->mutable_model()->mutable_layers()->add_layer()->set_activation("relu");
    job->mutable_model()->mutable_layers()->add_layer()->set_dropout(0.5);
  }
  there.mutable_model()->mutable_layers()->mutable_layer(1)->set_dropout(0.25);
  there.mutable_model()->mutable_layers()->add_layer()->set_name("x");
  EXPECT_THAT(
      DescribeConfigDifferences(SharedConfigText(here),
                                SharedConfigText(there)),
      ElementsAre("model.layers.layer[1].dropout: 0.25 there and 0.5 here",
                  "model.layers.layer[2].name: \"x\" there and (unset) here"));
}

// Text from a peer must not use up the stack.
TEST(DescribeConfigDifferencesTest, DeepTextIsRefused) {
  std::string deep = "model { layers { ";
  for (int i = 0; i < 100000; ++i) deep += "layer { residual { ";
  EXPECT_THAT(DescribeConfigDifferences("", deep),
              ElementsAre(HasSubstr("Message is too deep")));
}

TEST(DescribeConfigDifferencesTest, AConfigThatDoesNotParseIsOneLine) {
  const auto lines = DescribeConfigDifferences(SharedConfigText(JobConfig()),
                                               "from_the_future: 1");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("another version of this program"),
                              HasSubstr("from_the_future")));
}

TEST(DescribeConfigDifferencesTest, LayoutOfTheTextDoesNotMatter) {
  EXPECT_THAT(DescribeConfigDifferences("seed: 5\nname: \"a\"",
                                        "name:'a'  # same\n seed :5"),
              IsEmpty());
}

}  // namespace
}  // namespace ps
