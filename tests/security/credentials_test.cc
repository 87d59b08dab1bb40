#include "security/credentials.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/job_certificates.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    fs::remove_all(folder_);
    job_.set_name("job");
  }

  ~CredentialsTest() override { fs::remove_all(folder_); }

  absl::Status Create(const std::string& listen) const {
    CredentialsOptions options;
    options.config = &job_;
    options.self = {"job", Role::kServer, 0};
    options.listen = listen;
    return Credentials::Create(options).status();
  }

  static void ExpectSays(const absl::Status& status, const std::string& what) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }

  // Short enough for a socket.
  const std::string folder_ = absl::StrCat("/tmp/credentials_test.", getpid());
  JobConfig job_;
};

TEST_F(CredentialsTest, TcpNeedsCertificates) {
  ExpectSays(Create("127.0.0.1:0"), "gradsieve certs");
  job_.mutable_security()->set_directory(folder_);
  ExpectSays(Create("127.0.0.1:0"), folder_ + "/server-0.key");
  ASSERT_TRUE(WriteJobCertificates(
                  job_, folder_,
                  {absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1)})
                  .ok());
  EXPECT_TRUE(Create("127.0.0.1:0").ok()) << Create("127.0.0.1:0");
  job_.set_name("other");
  EXPECT_TRUE(Create("127.0.0.1:0").ok()) << "self is still of the job";
}

TEST_F(CredentialsTest, PlaintextStaysOnTheMachineUnlessToldOtherwise) {
  job_.mutable_security()->set_mode(SecurityConfig::INSECURE);
  for (const char* address :
       {"127.0.0.1:0", "localhost:7000", "[::1]:7000", "127.9.9.9:1"}) {
    EXPECT_TRUE(Create(address).ok()) << address << Create(address);
  }
  for (const char* address : {"0.0.0.0:7000", "[::]:7000", "10.0.0.5:7000",
                              "host:7000", "127.0.0.1.example.org:7000"}) {
    ExpectSays(Create(address), address);
    ExpectSays(Create(address), "security.insecure_networks");
  }
  job_.mutable_cluster()->add_servers("far:7000");
  ExpectSays(Create("127.0.0.1:0"), "far:7000");
  job_.mutable_security()->set_insecure_networks(true);
  EXPECT_TRUE(Create("0.0.0.0:7000").ok());
}

TEST_F(CredentialsTest, ASocketsFolderMustBeClosed) {
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms(0755));
  const std::string address = "unix:" + folder_ + "/server-0";
  ExpectSays(Create(address), "chmod 700 " + folder_);
  fs::permissions(folder_, fs::perms(0700));
  EXPECT_TRUE(Create(address).ok()) << Create(address);
}

}  // namespace
}  // namespace ps
