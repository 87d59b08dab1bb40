// `gradsieve launch` as a process. A script in place of ssh runs its commands
// on this machine, in a home folder for each host.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kJob[] = R"(
  name: "short"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training { batch_size: 8 epochs: 10 max_iterations: 25 }
  checkpoint { every: 10 }
)";

constexpr char kExternalJob[] = R"(
  model { name: "external" }
  worker_optimizer { name: "external" }
)";

// Host "away" cannot be reached. Arguments: options, --, host, command.
constexpr char kFakeSsh[] = R"(#!/bin/sh
while [ "$1" != -- ]; do shift; done
if [ "$2" = away ]; then
  echo "connect to host away: No route to host" >&2
  exit 255
fi
cd "$(dirname "$0")/home-$2" && PATH=$PWD/bin:$PATH exec sh -c "$3"
)";

// A port that was free a moment ago.
int FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size),
            0);
  return ntohs(address.sin_port);
}

class LaunchCommand : public CommandTest {
 protected:
  LaunchCommand() : port_(FreePort()) {
    std::ofstream(Path("job.textproto")) << kJob;
    std::ofstream(Path("ssh")) << kFakeSsh;
    chmod(Path("ssh").c_str(), 0700);
    for (const char* host : {"home-a", "home-b"}) {
      fs::create_directories(Path(host));
    }
    fs::create_directories(Path("programs"));
    for (const char* name : {"server", "worker", "bridge"}) {
      fs::create_symlink(ProgramPath(absl::StrCat(name, "/", name)),
                         absl::StrCat(Path("programs/"), name));
    }
  }

  // Processes have the folder of their programs in their command lines.
  ~LaunchCommand() override {
    EXPECT_TRUE(WaitFor(absl::Seconds(10), [&] {
      return ProcessesWith(Path("programs")).empty();
    })) << "processes are left";
  }

  int Launch(const std::vector<std::string>& more,
             const std::string& hosts = "a=127.0.0.1:2,b=127.0.0.2:1") {
    std::vector<std::string> arguments = {"launch",
                                          Path("job.textproto"),
                                          "--ssh=" + Path("ssh"),
                                          "--hosts=" + hosts,
                                          absl::StrCat("--port=", port_),
                                          "--programs=" + Path("programs"),
                                          "--run-dir=" + Path("run")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Gradsieve(arguments);
  }

  const int port_;
};

TEST_F(LaunchCommand, TrainsOnTheHostsAndBringsTheResults) {
  ASSERT_EQ(Launch({"--set=cluster.num_workers=2", "--tensorboard", "--page",
                    "--metrics-listen=127.0.0.1:0"}),
            0)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("The hosts have 3 workers, which count, and the "
                              "job says 2"),
                    HasSubstr("[server-1@b] "), HasSubstr("[worker-1@a] "),
                    HasSubstr("[worker-2@b] "), HasSubstr("3 workers"),
                    HasSubstr("test accuracy"),
                    HasSubstr("the page of this job is http://127.0.0.1:"),
                    HasSubstr("~/.cache/gradsieve/runs/run; remove them")));
  const std::vector<std::string> names = Names("run");
  EXPECT_THAT(names, Contains(StartsWith("events.out.tfevents.")));
  for (const char* file :
       {"weights.safetensors", "summary.json", "metrics.jsonl", "job.textproto",
        "hosts", "logs/worker-2.log", "certificates/ca.key"}) {
    EXPECT_TRUE(fs::exists(Path("run/") + file)) << file;
  }
  const std::string there = Path("home-a/.cache/gradsieve/runs/run/");
  EXPECT_EQ(ReadFile(Path("run/metrics.jsonl")).value_or(""),
            ReadFile(there + "records/metrics.jsonl").value_or("none"));
  EXPECT_FALSE(fs::exists(there + "certificates/ca.key"));
  EXPECT_FALSE(fs::exists(there + "certificates/worker-2.key"));
  EXPECT_EQ(Gradsieve({"launch", "--resume", Path("run")}), 1);
  EXPECT_THAT(output(), HasSubstr("is complete"));
  // The same name, from another folder.
  EXPECT_EQ(Gradsieve({"launch", Path("job.textproto"), "--ssh=" + Path("ssh"),
                       "--hosts=a=127.0.0.1", "--programs=" + Path("programs"),
                       "--run-dir=" + Path("other/run")}),
            1);
  EXPECT_THAT(output(), HasSubstr("belongs to another run"));
}

TEST_F(LaunchCommand, GoesOnWhenTheResultsDidNotArrive) {
  ASSERT_EQ(Launch({}), 0) << output();
  const auto weights = ReadFile(Path("run/weights.safetensors"));
  fs::remove(Path("run/summary.json"));
  // Too long for this test: servers that know of the end wait for others.
  const std::string snapshots =
      Path("home-a/.cache/gradsieve/runs/run/checkpoints");
  fs::remove(snapshots + "/server-0-of-2/done");
  fs::remove(
      Path("home-b/.cache/gradsieve/runs/run/checkpoints/"
           "server-1-of-2/done"));
  ASSERT_EQ(Gradsieve({"launch", "--resume", Path("run")}), 0) << output();
  EXPECT_THAT(output(), HasSubstr("goes on after push 20"));
  EXPECT_TRUE(fs::exists(Path("run/summary.json")));
  EXPECT_EQ(*ReadFile(Path("run/weights.safetensors")), *weights);
}

TEST_F(LaunchCommand, TheFirstFailureEndsTheJobWithItsMessage) {
  // Only workers look for the data.
  EXPECT_EQ(Launch({"--set=data.name=mnist", "--set=data.directory=none"}), 78);
  EXPECT_THAT(output(), AllOf(HasSubstr("gradsieve launch: worker-"),
                              HasSubstr("exited with code 78"),
                              HasSubstr("data.directory: cannot read none"),
                              HasSubstr("When this is mended, the run goes on "
                                        "with: gradsieve launch --resume"),
                              Not(HasSubstr("To go on:"))));
}

TEST_F(LaunchCommand, ChecksSayWhereEverythingRuns) {
  EXPECT_EQ(Launch({"--check"}), 0) << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("a: server-0, worker-0, worker-1\n"),
                              HasSubstr("b: server-1, worker-2\n")));
  EXPECT_FALSE(fs::exists(Path("run")));
}

TEST_F(LaunchCommand, WhatTheHostsLackIsSaidBeforeTheStart) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--check"}}) {
    const auto expect_refused = [&](const std::string& hosts,
                                    const std::string& message) {
      EXPECT_EQ(Launch(more, hosts), 1) << output();
      EXPECT_THAT(output(), AllOf(HasSubstr(message), Not(HasSubstr("To go"))));
      EXPECT_FALSE(fs::exists(Path("run")));
    };
    // Two names of this machine; numbers keep the servers apart.
    expect_refused("a=localhost,b=LocalHost",
                   "a and b are one machine, where server-0 and server-1 "
                   "cannot both listen on 0.0.0.0:");
    expect_refused("a=no-such-host.invalid",
                   "a: does not know the address \"no-such-host.invalid\" of "
                   "server-0; give the one");
    fs::rename(Path("programs/worker"), Path("programs/other"));
    expect_refused("a=127.0.0.1", "\ncannot run " + Path("programs/worker"));
    fs::rename(Path("programs/other"), Path("programs/worker"));
  }
}

TEST_F(LaunchCommand, AHostThatCannotBeReachedIsNamedWithWhatToDo) {
  const auto told =
      AllOf(HasSubstr("away: ssh failed: connect to host away: No route"),
            HasSubstr("ssh -o BatchMode=yes away true"));
  EXPECT_EQ(Launch({"--check"}, "a,away"), 1);
  EXPECT_THAT(output(), told);
  EXPECT_EQ(Launch({}, "a,away"), 1);
  EXPECT_THAT(output(), told);
}

// tests/python/launch_test.py has scripts that train.
TEST_F(LaunchCommand, EachWorkerRunsTheCommandOfTheUser) {
  std::ofstream(Path("job.textproto")) << kExternalJob;
  const auto shell = [&](const std::string& script) {
    return Launch({"--", "sh", "-c", script, "sh", "--lr=1"});
  };
  EXPECT_EQ(shell("echo \"$RANK $LOCAL_RANK $1\"; test -x $GRADSIEVE_BRIDGE && "
                  "test -f ${GRADSIEVE_SET#*security.directory=}/ca.pem"),
            0)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("[worker-0@a] 0 0 --lr=1\n"),
                    HasSubstr("[worker-1@a] 1 1 --lr=1\n"),
                    HasSubstr("[worker-2@b] 2 0 --lr=1\n"),
                    HasSubstr("The run is in " + Path("run")),
                    HasSubstr("keep its keys in ~/.cache/gradsieve")));
  struct Case {
    const char* script;
    int code;
    const char* message;
  };
  for (const Case& test :
       {Case{"exit $((RANK / 2 * 3))", 1, "worker-2@b exited with code 3\n"},
        {"exit 78", 78, "exited with code 78\n"},
        {"kill -9 $$", 75, "exited with code 137"}}) {
    for (const char* folder :
         {"run", "home-a/.cache/gradsieve/runs", "home-b/.cache"}) {
      fs::remove_all(Path(folder));
    }
    EXPECT_EQ(shell(test.script), test.code) << output();
    EXPECT_THAT(output(),
                AllOf(HasSubstr(test.message),
                      HasSubstr("What the hosts have of this run is in ~/"),
                      Not(HasSubstr("--resume"))));
  }
}

TEST_F(LaunchCommand, ACommandThatAHostLacksIsSaidBeforeTheStart) {
  std::ofstream(Path("job.textproto")) << kExternalJob;
  fs::create_directories(Path("home-a/bin"));
  fs::create_symlink("/bin/sh", Path("home-a/bin/mine"));
  const std::string here = fs::current_path();
  EXPECT_EQ(Launch({"--", "mine", "none.py"}), 1);
  EXPECT_THAT(
      output(),
      AllOf(HasSubstr("a: there is no script none.py in " + here +
                      "; every host must have it at the same path\n"),
            HasSubstr("b: cannot run mine in " + here +
                      "; every host must have the program of the command")));
  EXPECT_EQ(Launch({"--check", "--", "/no/such/python"}), 1);
  EXPECT_THAT(output(), HasSubstr("a: cannot run /no/such/python in "));
  fs::remove(Path("programs/bridge"));
  EXPECT_EQ(Launch({"--", "sh"}), 1);
  EXPECT_THAT(output(), HasSubstr("cannot run " + Path("programs/bridge")));
  EXPECT_FALSE(fs::exists(Path("run")));
}

TEST_F(LaunchCommand, ACommandMustFitTheJob) {
  EXPECT_EQ(Launch({"--", "sh"}), 64);
  EXPECT_THAT(output(), HasSubstr("a command, as in sh, is for a job with"));
  std::ofstream(Path("job.textproto")) << kExternalJob;
  EXPECT_EQ(Launch({}), 78);
  EXPECT_THAT(output(), HasSubstr("this job's model is in a program of yours"));
  EXPECT_EQ(Launch({"--tensorboard", "--", "sh"}), 64);
  EXPECT_THAT(output(), HasSubstr("--tensorboard shows what"));
  EXPECT_EQ(Launch({absl::StrCat("--page=", port_ + 1), "--", "sh"}), 64);
  EXPECT_THAT(output(), HasSubstr(absl::StrCat("share port ", port_ + 1)));
}

TEST_F(LaunchCommand, CommandLinesThatMakeNoSenseSaySo) {
  const std::string job = Path("job.textproto");
  EXPECT_EQ(Gradsieve({"launch", job}), 64);
  EXPECT_THAT(output(), HasSubstr("--hosts=a:4,b:4"));
  // A bundle sends itself; elsewhere the programs must be named.
  const bool in_bundle = fs::exists(
      fs::path(ProgramPath("tools/gradsieve")).parent_path().parent_path() /
      "CONTENTS");
  EXPECT_EQ(Gradsieve({"launch", job, "--hosts=away", "--ssh=" + Path("ssh"),
                       "--run-dir=" + Path("away")}),
            in_bundle ? 1 : 64);
  EXPECT_THAT(output(),
              HasSubstr(in_bundle ? "No route to host" : "--bundle=FILE"));
  EXPECT_EQ(Gradsieve({"launch", job, "--hosts=a", "--bundle=/no/such.tar"}),
            64);
  EXPECT_THAT(output(), HasSubstr("/no/such.tar"));
  EXPECT_EQ(Launch({"--bundle=x"}), 64);
  EXPECT_THAT(output(), HasSubstr("exclude each other"));
  EXPECT_EQ(Launch({}, "a:x"), 64);
  EXPECT_THAT(output(), HasSubstr("host \"a:x\""));
  EXPECT_EQ(Launch({"--metrics-listen=9100", "--page=9101"}), 64);
  EXPECT_THAT(output(), HasSubstr("share port 9101"));
  EXPECT_EQ(Launch({"--resume"}), 64);
  EXPECT_THAT(output(), HasSubstr("keeps its directory"));
  EXPECT_EQ(Launch({"--set=training.epochs=-1"}), 78);
  EXPECT_THAT(output(), HasSubstr("epochs"));
  EXPECT_EQ(Gradsieve({"launch", "--resume", Path("none")}), 78);
  EXPECT_THAT(output(), HasSubstr("none/hosts"));
}

}  // namespace
}  // namespace ps
