// `gradsieve manifests` as a process; deploy/k8s/validate renders what it
// writes.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/exit_codes.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ManifestsCommand : public CommandTest {
 protected:
  ManifestsCommand() {
    std::ofstream(Path("job.textproto"))
        << "name: \"mine\" cluster { num_workers: 2 startup_timeout_seconds: 5 "
           "servers: \"here:1\" servers: \"there:1\" num_servers: 2 }";
    std::filesystem::create_directories(Path("base"));
    std::ofstream(Path("base/kustomization.yaml")) << "resources: []\n";
  }

  int Manifests(std::vector<std::string> options) {
    options.insert(options.begin(),
                   {"manifests", Path("job.textproto"),
                    "--base=" + Path("base"), "--output=" + Path("run")});
    return Gradsieve(options);
  }

  std::string Read(const std::string& name) {
    return ReadFile(Path(name)).value_or("it cannot be read");
  }
};

TEST_F(ManifestsCommand, WritesTheOverlayWhole) {
  ASSERT_EQ(Manifests({"--name=run-1", "--workers=3", "--servers=1"}),
            kExitDone)
      << output();
  EXPECT_THAT(output(), HasSubstr("kubectl apply -k"));
  EXPECT_THAT(Names("run"),
              ElementsAre("certificates", "job.textproto", "kustomization.yaml",
                          "server.yaml", "worker.yaml"));
  EXPECT_THAT(Read("run/kustomization.yaml"),
              AllOf(HasSubstr("namePrefix: run-1-\n"),
                    HasSubstr("app.kubernetes.io/instance: \"run-1\"\n"),
                    HasSubstr("- \"../base\"\n- certificates/secrets.yaml\n"),
                    Not(HasSubstr("components"))));
  EXPECT_THAT(Read("run/server.yaml"), HasSubstr("  replicas: 1\n"));
  EXPECT_THAT(Read("run/worker.yaml"),
              HasSubstr("  completions: 3\n  parallelism: 3\n"));
  EXPECT_THAT(
      Read("run/job.textproto"),
      AllOf(HasSubstr("name: \"run-1\"\n"), HasSubstr("num_workers: 3\n"),
            HasSubstr("servers: \"run-1-gradsieve-server-0."
                      "run-1-gradsieve-server:50051\"\n"),
            Not(HasSubstr("there:1")),
            // What the job says stays.
            HasSubstr("startup_timeout_seconds: 5\n"),
            HasSubstr("lost_server_timeout_seconds: 600\n"),
            HasSubstr("worker_threads: 1\n")));
  // With more workers, those that are there keep their keys.
  const std::string key = Read("run/certificates/worker-2.key");
  EXPECT_THAT(key, HasSubstr("PRIVATE KEY"));
  ASSERT_EQ(Manifests({"--name=run-1", "--workers=4", "--servers=1"}),
            kExitDone);
  EXPECT_EQ(Read("run/certificates/worker-2.key"), key);
  EXPECT_THAT(Read("run/certificates/worker-3.key"), HasSubstr("PRIVATE KEY"));
}

TEST_F(ManifestsCommand, NamesTheBaseFromAFolderThatIsNotThereYet) {
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(Path(""));
  const int code =
      Gradsieve({"manifests", "job.textproto", "--name=true", "--base=base",
                 "--data-claim=", "--output=new/run"});
  std::filesystem::current_path(here);
  ASSERT_EQ(code, kExitDone) << output();
  EXPECT_THAT(Read("new/run/kustomization.yaml"),
              AllOf(HasSubstr("\nresources:\n- \"../../base\"\n"),
                    HasSubstr("instance: \"true\"\n")));
}

// The base's 1 GiB is for its small job.
TEST_F(ManifestsCommand, GivesServersTheMemoryThatTheyCanNeed) {
  const auto memory = [this](const std::vector<std::string>& options) {
    EXPECT_EQ(Manifests(options), kExitDone) << output();
    const std::string text = Read("run/server.yaml");
    const std::string before = "limits:\n            memory: \"";
    const size_t begin = text.find(before);
    EXPECT_NE(begin, std::string::npos) << text;
    return std::atoi(text.c_str() + begin + before.size());
  };
  const int with_log = memory({"--name=a"});
  const int small = memory({"--name=a", "--set=checkpoint.log_megabytes=64",
                            "--set=cluster.credit_megabytes=8"});
  EXPECT_GT(small, 128);
  EXPECT_GT(with_log, small + 900);
  ASSERT_EQ(Manifests({"--name=a", "--server-memory=1.5Gi"}), kExitDone);
  EXPECT_THAT(Read("run/server.yaml"), HasSubstr("memory: \"1.5Gi\"\n"));
  // Data that only the pods have.
  ASSERT_EQ(
      Manifests({"--name=a", "--data-claim=imagenet.v2",
                 "--set=data.name=cifar10", "--set=data.directory=/nowhere"}),
      kExitDone);
  EXPECT_THAT(output(), HasSubstr("note: servers get the base's memory"));
  EXPECT_THAT(Read("run/server.yaml"), Not(HasSubstr("memory:")));
}

TEST_F(ManifestsCommand, LeavesCertificatesToCertManager) {
  ASSERT_EQ(Manifests({"--name=a", "--cert-manager", "--data-claim=images",
                       "--set=data.name=cifar10", "--set=data.directory=/data",
                       "--worker-cpus=4", "--worker-memory=8Gi"}),
            kExitDone)
      << output();
  EXPECT_FALSE(std::filesystem::exists(Path("run/certificates")));
  EXPECT_THAT(Read("run/certificates.yaml"),
              AllOf(HasSubstr("spiffe://gradsieve/a/server/1\n"),
                    HasSubstr("spiffe://gradsieve/a/worker/1\n"),
                    HasSubstr("secretName: a-gradsieve-worker-1-tls\n")));
  EXPECT_THAT(Read("run/worker.yaml"),
              AllOf(HasSubstr("cpu: \"4\"\n"), HasSubstr("memory: \"8Gi\"\n"),
                    HasSubstr("mountPath: \"/data\"\n"),
                    HasSubstr("claimName: \"images\"\n"),
                    HasSubstr("name: a-gradsieve-worker-1-tls\n")));
  EXPECT_THAT(Read("run/job.textproto"), HasSubstr("worker_threads: 4\n"));
}

TEST_F(ManifestsCommand, SaysWhatDoesNotFit) {
  EXPECT_EQ(Manifests({"--name=Run_1"}), kExitUsage);
  EXPECT_THAT(output(), HasSubstr("--name is \"Run_1\"; must be at most 32 "
                                  "lower-case letters, digits and hyphens"));
  EXPECT_EQ(Manifests({"--name=a", "--workers=-1"}), kExitUsage);
  EXPECT_THAT(output(), HasSubstr("--workers is -1; must be in [1, 1000]"));
  EXPECT_EQ(Manifests({"--name=a", "--worker-memory=8 GB"}), kExitUsage);
  EXPECT_THAT(output(),
              HasSubstr("--worker-memory is \"8 GB\"; must be a number "
                        "and a unit of Kubernetes, as in 4Gi"));
  EXPECT_EQ(Manifests({"--name=a", "--set=data.name=cifar10",
                       "--set=data.directory=/data"}),
            kExitConfig);
  EXPECT_THAT(output(),
              HasSubstr("data.directory is \"/data\" and --data-claim is "
                        "\"\"; where pods read data, give both"));
  EXPECT_EQ(Manifests({"--name=a", "--component=" + Path("nowhere")}),
            kExitUsage);
  EXPECT_THAT(output(), HasSubstr("nowhere has no kustomization.yaml"));
  EXPECT_EQ(Manifests({"--name=a", "--data-claim=images",
                       "--set=data.name=cifar10", "--set=data.directory=/data",
                       "--set=model.initial_weights=net/weights.safetensors"}),
            kExitConfig);
  EXPECT_THAT(output(),
              HasSubstr("model.initial_weights is \"net/weights.safetensors\"; "
                        "pods read files below data.directory only: put it "
                        "there, and say where, as in --set "
                        "model.initial_weights=/data/weights.safetensors"));
  EXPECT_EQ(Manifests({"--name=a", "--data-claim=Images"}), kExitUsage);
  EXPECT_THAT(output(), HasSubstr("--data-claim is \"Images\"; must be the "
                                  "name of a PersistentVolumeClaim"));
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

}  // namespace
}  // namespace ps
