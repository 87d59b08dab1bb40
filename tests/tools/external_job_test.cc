// `gradsieve train` of a job whose model is in a program of the user's; here a
// shell. tests/python has programs that train.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExternalJob : public CommandTest {
 protected:
  ExternalJob() {
    Write(R"(
        model { name: "external" }
        worker_optimizer { name: "external" }
        compressor { name: "topk" ratio: 0.1 }
        cluster { num_workers: 2 num_servers: 1 })");
  }

  void Write(const std::string& job) {
    std::ofstream(Path("job.textproto")) << job;
  }

  int Train(std::vector<std::string> more) {
    more.insert(more.begin(), {"train", Path("job.textproto")});
    return Gradsieve(more);
  }

  // Nothing is left of what is refused.
  void ExpectRefused(int code, const std::string& message,
                     const std::vector<std::string>& more) {
    EXPECT_EQ(Train(more), code);
    EXPECT_THAT(output(), HasSubstr(message));
    EXPECT_THAT(Names(""), ElementsAre("job.textproto"));
  }
};

TEST_F(ExternalJob, RunsTheCommandAsEachWorker) {
  EXPECT_EQ(
      Train({"--run-dir=" + Path("run"), "--", "sh", "-c",
             "echo \"$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE "
             "$MASTER_ADDR $1\"; test "
             "$MASTER_PORT -gt 0 && test $OMP_NUM_THREADS -gt 0 && test -f "
             "\"$GRADSIEVE_JOB\" && test -x \"$GRADSIEVE_BRIDGE\"",
             "sh", "--lr=1"}),
      0)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("[worker-0] 0 0 2 2 127.0.0.1 --lr=1\n"),
                    HasSubstr("[worker-1] 1 1 2 2 127.0.0.1 --lr=1\n"),
                    HasSubstr("The run is in " + Path("run"))));
  EXPECT_THAT(Names("run"), ElementsAre("job.textproto", "logs"));
}

TEST_F(ExternalJob, KeepsTheUsersNumberOfThreads) {
  setenv("OMP_NUM_THREADS", "77", /*replace=*/1);
  EXPECT_EQ(Train({"--run-dir=" + Path("run"), "--", "sh", "-c",
                   "test $OMP_NUM_THREADS = 77"}),
            0)
      << output();
  unsetenv("OMP_NUM_THREADS");
}

TEST_F(ExternalJob, NamesTheRankThatFails) {
  const std::string run = "--run-dir=" + Path("run");
  EXPECT_EQ(Train({run, "--", "sh", "-c", "exit $((3 * RANK))"}), 1);
  EXPECT_THAT(output(), HasSubstr("worker-1 exited with code 3\nIts log: "));
}

TEST_F(ExternalJob, SaysWhatTheRankThatFailsSaidLast) {
  EXPECT_EQ(Train({"--run-dir=" + Path("run"), "--", "sh", "-c",
                   "echo 'No module named gradsieve'; exit $RANK"}),
            1);
  EXPECT_THAT(output(),
              HasSubstr("worker-1 exited with code 1: No module named "
                        "gradsieve\nIts log: "));
}

TEST_F(ExternalJob, EndsWithTheCodeOfTheRankThatFails) {
  EXPECT_EQ(Train({"--run-dir=" + Path("run"), "--", "sh", "-c", "exit 78"}),
            78);
  EXPECT_EQ(
      Train({"--run-dir=" + Path("again"), "--", "sh", "-c", "kill -9 $$"}),
      75);
}

TEST_F(ExternalJob, RefusesWhatDoesNotFitTogether) {
  ExpectRefused(64,
                "this job's model is in a program of yours (model.name is "
                "\"external\"): name it at the end, as in -- python3 train.py",
                {});
  ExpectRefused(64, "there is no program no_such_program",
                {"--", "no_such_program"});
  ExpectRefused(64, "--tensorboard shows what", {"--tensorboard", "--", "sh"});
  EXPECT_EQ(Train({"--check"}), 0);
  EXPECT_THAT(output(),
              HasSubstr("is a valid job; its model is in a program of yours"));
  Write("model { name: \"mlp\" }");
  ExpectRefused(64,
                "a command, as in sh, is for a job with model.name "
                "\"external\", and that of",
                {"--", "sh"});
}

TEST_F(ExternalJob, IsAskedForItsCommandByAdvise) {
  const std::string job = Path("job.textproto");
  EXPECT_EQ(Gradsieve({"advise", job, "--bandwidth=1gbit"}), 64);
  EXPECT_THAT(output(), HasSubstr("name it at the end, as in -- python3"));
  EXPECT_EQ(Gradsieve({"advise", job, "--", "no_such_program"}), 64);
  EXPECT_THAT(output(), HasSubstr("there is no program no_such_program"));
  EXPECT_EQ(Gradsieve({"advise", job, "--settings=none", "--", "sh", "-c",
                       "echo 'No module named gradsieve'; exit 1"}),
            1);
  EXPECT_THAT(output(), HasSubstr("measuring \"none\": worker-"));
  EXPECT_THAT(output(), HasSubstr("No module named gradsieve"));
}

TEST_F(ExternalJob, IsRefusedWhereTheModelIsNeeded) {
  const std::string job = Path("job.textproto");
  const std::string message = "this job's model is in a program of yours";
  std::filesystem::create_directories(Path("base"));
  std::ofstream(Path("base/kustomization.yaml")) << "resources: []\n";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"model", "show", job},
        {"plan-memory", job},
        {"manifests", job, "--name=run", "--base=" + Path("base"),
         "--output=" + Path("manifests")}}) {
    EXPECT_EQ(Gradsieve(command), 78) << command[0];
    EXPECT_THAT(output(), HasSubstr(message)) << command[0];
  }
}

TEST_F(ExternalJob, MustNotSayWhatTheProgramDecides) {
  struct Case {
    const char* setting;
    const char* message;
  };
  for (const Case& test :
       {Case{"training.batch_size=7",
             "training.batch_size is set; must be left out with model.name "
             "\"external\""},
        {"training.trace_iteration=1", "training.trace_iteration is set"},
        {"data.name=mnist", "data.name is set"},
        {"schedule.name=cosine", "schedule.name is set"},
        {"worker_optimizer.momentum=0.5", "worker_optimizer.momentum is set"},
        {"worker_optimizer.name=sgd",
         "worker_optimizer.name is \"sgd\"; must be \"external\" with "
         "model.name \"external\""},
        {"model.initial_weights=x", "model.initial_weights is set"},
        {"consistency.step_timeout_seconds=3",
         "consistency.step_timeout_seconds is 3; must be 0 with model.name "
         "\"external\""},
        {"checkpoint.durability=SNAPSHOTS",
         "checkpoint.durability is SNAPSHOTS; must be EVERY_UPDATE or "
         "checkpoint.directory empty"}}) {
    ExpectRefused(78, test.message,
                  {"--check", "--set=checkpoint.directory=x",
                   std::string("--set=") + test.setting});
  }
  for (const char* setting :
       {"training.max_iterations=7", "training.bucket_megabytes=4",
        "training.non_finite=SKIP", "worker_optimizer.step_ahead=0.5",
        "optimizer.name=nesterov", "consistency.local_steps=4",
        "consistency.mode=ASYNCHRONOUS", "checkpoint.directory=x"}) {
    EXPECT_EQ(Train({"--check", std::string("--set=") + setting}), 0)
        << output();
  }
  Write("worker_optimizer { name: \"external\" }");
  ExpectRefused(78, "must be a rule unless model.name is \"external\"",
                {"--check"});
}

TEST_F(ExternalJob, MayExchangeGradients) {
  const std::string job = R"(
      model { name: "external" }
      downlink { mode: MEAN compressor { value_code: "int8_block" } })";
  Write(job);
  for (const char* setting :
       {"compressor.name=topk", "compressor.name=scalecom",
        "downlink.compressor.name=sidco_e",
        "downlink.compressor.value_code=fp32", "training.non_finite=SKIP"}) {
    EXPECT_EQ(Train({"--check", std::string("--set=") + setting}), 0)
        << output();
  }
  // Its servers read the resolved job, which has every field.
  EXPECT_EQ(Train({"--run-dir=" + Path("run"), "--", "true"}), 0) << output();
  std::filesystem::remove_all(Path("run"));
  struct Case {
    const char* setting;
    const char* message;
  };
  for (const Case& test :
       {Case{"worker_optimizer.name=external",
             "worker_optimizer is set; must be left out with downlink.mode "
             "MEAN"},
        {"optimizer.learning_rate=0.5",
         "optimizer.learning_rate is set; must be left out with model.name "
         "\"external\""},
        {"schedule.name=cosine", "schedule.name is set"},
        {"consistency.local_steps=4",
         "consistency.local_steps is 4; must be 1"},
        {"consistency.digest_every=5",
         "consistency.digest_every is 5; must be 0 with downlink.mode MEAN"},
        {"consistency.mode=ASYNCHRONOUS",
         "must be SYNCHRONOUS with downlink.mode MEAN"},
        {"downlink.compressor.error_feedback=false",
         "downlink.compressor.error_feedback is false; must be true"},
        {"downlink.compressor.name=powersgd",
         "downlink.compressor.name is \"powersgd\"; must be one that does not "
         "treat each tensor separately"},
        {"downlink.mode=WEIGHTS",
         "worker_optimizer.name is unset; must be \"external\" with "
         "model.name \"external\": the program that has the model takes the "
         "steps; or downlink.mode must be MEAN"},
        {"model.name=mlp",
         "downlink.mode is MEAN; must be another unless model.name is "
         "\"external\""}}) {
    ExpectRefused(78, test.message,
                  {"--check", std::string("--set=") + test.setting});
  }
}

}  // namespace
}  // namespace ps
