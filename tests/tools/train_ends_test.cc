// How `gradsieve train` ends when it cannot begin, and when a process fails.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/encode_image_for_test.h"
#include "tests/tools/train_test.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TrainEnds : public TrainTest {
 protected:
  // Says so in `output()` and starts nothing.
  void ExpectNotStarted(int exit_code, const std::vector<std::string>& more,
                        const std::string& message) {
    EXPECT_EQ(Train(more), exit_code) << output();
    EXPECT_THAT(output(), AllOf(HasSubstr(message), Not(HasSubstr("server"))));
    EXPECT_FALSE(fs::exists(Path("run")));
  }
};

TEST_F(TrainEnds, APageThatCannotBeServedIsNamedBeforeTheStart) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(fd.get(), generic, size), 0);
  ASSERT_EQ(listen(fd.get(), 1), 0);
  ASSERT_EQ(getsockname(fd.get(), generic, &size), 0);
  const int port = ntohs(address.sin_port);
  const std::string taken = absl::StrCat("--page=127.0.0.1:", port);
  ExpectNotStarted(kExitUsage, {taken}, "cannot serve the page on 127.0.0.1:");
  ExpectNotStarted(kExitUsage, {absl::StrCat("--page=", port)},
                   "cannot serve the page on ");
  ExpectNotStarted(
      kExitUsage, {"--page=nowhere"},
      "the address for the page is \"nowhere\"; must be host:port");
  ExpectNotStarted(kExitUsage, {"--page=70000"}, "or a port alone");
}

TEST_F(TrainEnds, PortsForTwoProcessesAreNamedBeforeTheStart) {
  ExpectNotStarted(
      kExitUsage, {"--page=41003", "--metrics-listen=41001"},
      "--page (port 41003) and --metrics-listen (ports 41001 to 41003) share ");
  ExpectNotStarted(kExitUsage, {"--metrics-listen=65535"},
                   "--metrics-listen is 65535, and 3 processes take a port ");
}

TEST_F(TrainEnds, ADeviceThatIsNotThereIsNamedBeforeTheStart) {
  const std::string device = "--set=machine.device=cuda:1023";
  ExpectNotStarted(kExitConfig, {device}, "machine.device is ");
  ExpectNotStarted(kExitConfig, {device, "--check"}, "machine.device is ");
}

TEST_F(TrainEnds, ALostFolderForTemporaryFilesIsNamedWithItsVariable) {
  setenv("TMPDIR", "/no/such/folder", 1);
  ExpectNotStarted(kExitFailed, {},
                   "no folder for temporary files at /no/such/folder, which "
                   "TMPDIR names: ");
  unsetenv("TMPDIR");
}

TEST_F(TrainEnds, AnUnknownOptionMayBeAFieldOfTheJob) {
  ExpectNotStarted(kExitUsage, {"--epochs=2"},
                   "did you mean --set training.epochs=2?");
  ExpectNotStarted(kExitUsage, {"--gpu"},
                   "did you mean --set machine.device=VALUE?");
}

// Two folders of images, one of which ends too early.
TEST_F(TrainEnds, TheProcessThatFailedFirstIsNamedWithItsCode) {
  EncodeOptions shape;
  shape.width = 16;
  shape.height = 16;
  for (const char* part : {"train", "test"}) {
    for (const int name : {0, 1}) {
      const std::string folder =
          Path(absl::StrCat("images/", part, "/class", name));
      fs::create_directories(folder);
      for (int i = 0; i < 8; ++i) {
        std::vector<uint8_t> pixels(3 * 16 * 16);
        for (size_t j = 0; j < pixels.size(); ++j) {
          pixels[j] = static_cast<uint8_t>(j * (i + 3) + 100 * name);
        }
        std::ofstream(absl::StrCat(folder, "/", i, ".png"))
            << EncodePng(pixels, shape);
      }
    }
  }
  const std::string damaged = Path("images/train/class1/7.png");
  fs::resize_file(damaged, fs::file_size(damaged) / 2);
  std::ofstream(Path("job.textproto")) << R"(
    name: "damaged"
    model { name: "mlp" mlp { hidden_units: 8 } }
    data { name: "image_folder" image_folder { side: 16 test_resize: 16 } }
    training { batch_size: 2 epochs: 100 }
    checkpoint { every: 1 }
    cluster { num_workers: 2 num_servers: 1 }
  )";
  EXPECT_EQ(Train({"--set=data.directory=" + Path("images")}), kExitConfig)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("gradsieve train: worker-"),
                    HasSubstr("exited with code 78: worker "),
                    HasSubstr("class1/7.png"), Not(HasSubstr("To go on:"))));
}

}  // namespace
}  // namespace ps
