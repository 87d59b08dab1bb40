// The certificates of a job, as another reader (openssl) sees them, too.
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/certificate_authority.h"
#include "security/job_certificates.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kDay = absl::Hours(24);

const Identity kWorker = {"lenet", Role::kWorker, 3};

Validity Now() { return {absl::Now() - kDay, absl::Now() + kDay}; }

class Certificates : public testing::Test {
 protected:
  Certificates() : authority_(*CertificateAuthority::Create(Now())) {
    fs::remove_all(folder_);
  }

  KeyAndCertificate Issued(const Identity& identity) const {
    return *authority_.Issue(identity, Now());
  }

  absl::Status Check(const KeyAndCertificate& mine,
                     absl::Time now = absl::Now()) const {
    return CheckCertificate(mine, authority_.own().certificate, kWorker, now);
  }

  static void ExpectSays(const absl::Status& status, const std::string& what) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
    EXPECT_FALSE(status.ok());
  }

  static JobConfig Job() {
    JobConfig job;
    job.set_name("lenet");
    job.mutable_cluster()->set_num_workers(2);
    job.mutable_cluster()->set_num_servers(1);
    return job;
  }

  const std::string folder_ = testing::TempDir() + "/certificates";
  const CertificateAuthority authority_;
};

TEST_F(Certificates, AreAcceptedForWhomAndWhenTheyAre) {
  const KeyAndCertificate mine = Issued(kWorker);
  EXPECT_TRUE(Check(mine).ok()) << Check(mine);
  ExpectSays(Check(mine, absl::Now() - 2 * kDay), "is not valid before");
  ExpectSays(Check(mine, absl::Now() + 2 * kDay), "expired on");
  for (const Identity& other : {Identity{"lenet", Role::kWorker, 2},
                                Identity{"lenet", Role::kServer, 3},
                                Identity{"other", Role::kWorker, 3}}) {
    ExpectSays(Check(Issued(other)),
               absl::StrCat("that of \"", UriOf(other), "\" and not of ",
                            UriOf(kWorker)));
  }
}

TEST_F(Certificates, OfOtherAuthoritiesAreNot) {
  const auto foreign = CertificateAuthority::Create(Now());
  ExpectSays(Check(*foreign->Issue(kWorker, Now())), "did not sign");
  // A process is no authority.
  const CertificateAuthority worker(Issued(kWorker));
  ExpectSays(Check(*worker.Issue(kWorker, Now())), "did not sign");
}

TEST_F(Certificates, NeedTheirKeyAndPem) {
  KeyAndCertificate mine = Issued(kWorker);
  const KeyAndCertificate other = Issued(kWorker);
  ExpectSays(Check({other.key, mine.certificate}), "is not the certificate's");
  ExpectSays(Check({"", mine.certificate}), "the key: not a private key");
  ExpectSays(Check({mine.key, mine.key}), "the certificate: not a certificate");
  mine.certificate.resize(mine.certificate.size() / 2);
  ExpectSays(Check(mine), "the certificate: not a certificate");
}

TEST_F(Certificates, OpensslReadsTheFilesOfAJob) {
  ASSERT_TRUE(WriteJobCertificates(Job(), folder_, Now()).ok());
  const std::string command = absl::StrCat(
      "cd '", folder_,
      "' && openssl verify -x509_strict -CAfile ca.pem server-0.pem "
      "worker-0.pem worker-1.pem && openssl x509 -in worker-1.pem -noout -text "
      "2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output(1 << 16, '\0');
  output.resize(std::fread(output.data(), 1, output.size(), pipe));
  EXPECT_EQ(pclose(pipe), 0) << output;
  EXPECT_THAT(output, AllOf(HasSubstr("server-0.pem: OK"),
                            HasSubstr("worker-1.pem: OK"),
                            HasSubstr("URI:spiffe://gradsieve/lenet/worker/1"),
                            HasSubstr("prime256v1"), HasSubstr("CA:FALSE")));
}

TEST_F(Certificates, AnAuthorityWithoutItsKeyIsNotReplaced) {
  ASSERT_TRUE(WriteJobCertificates(Job(), folder_, Now()).ok());
  std::filesystem::remove(folder_ + "/ca.key");
  const auto certificate = ReadFile(folder_ + "/worker-0.pem");
  const absl::Status again =
      WriteJobCertificates(Job(), folder_, Now()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
  ExpectSays(again, "/ca.key, is not; bring the key back");
  EXPECT_EQ(ReadFile(folder_ + "/worker-0.pem"), certificate);
}

TEST_F(Certificates, RenewedOnesKeepTheirKeysAndTheAuthority) {
  const auto first = WriteJobCertificates(Job(), folder_, Now());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(*first);
  const auto read = [&](const std::string& name) {
    return *ReadFile(absl::StrCat(folder_, "/", name));
  };
  for (const char* key : {"ca.key", "server-0.key", "worker-1.key"}) {
    struct stat found = {};
    ASSERT_EQ(stat(absl::StrCat(folder_, "/", key).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600) << key;
  }
  const std::string authority = read("ca.pem");
  const std::string key = read("worker-1.key");
  const std::string certificate = read("worker-1.pem");
  JobConfig larger = Job();
  larger.mutable_cluster()->set_num_workers(4);
  const auto second = WriteJobCertificates(larger, folder_, Now());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(*second);
  EXPECT_EQ(read("ca.pem"), authority);
  EXPECT_EQ(read("worker-1.key"), key);
  EXPECT_NE(read("worker-1.pem"), certificate);
  EXPECT_TRUE(CheckCertificateFiles(CertificatePathsOf(folder_, kWorker),
                                    kWorker, absl::Now())
                  .ok());
}

TEST_F(Certificates, SecretsForKubernetesHaveWhatTheirPodsNeed) {
  ASSERT_TRUE(WriteJobCertificates(Job(), folder_, Now()).ok());
  ASSERT_TRUE(WriteKubernetesSecrets(Job(), folder_).ok());
  struct stat found = {};
  const std::string path = folder_ + "/secrets.yaml";
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600);
  // The names of the files in each Secret.
  std::map<std::string, std::vector<std::string>> files;
  std::string secret;
  for (const absl::string_view line : absl::StrSplit(*ReadFile(path), '\n')) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (entry.first == "  name") secret = std::string(entry.second);
    std::string bytes;
    if (!absl::EndsWith(entry.first, ".pem") &&
        !absl::EndsWith(entry.first, ".key")) {
      continue;
    }
    const std::string name(entry.first.substr(2));
    files[secret].push_back(name);
    ASSERT_TRUE(absl::Base64Unescape(entry.second, &bytes)) << line;
    EXPECT_EQ(bytes, *ReadFile(absl::StrCat(folder_, "/", name)));
  }
  EXPECT_THAT(files["gradsieve-server-certificates"],
              ElementsAre("ca.pem", "server-0.pem", "server-0.key"));
  EXPECT_THAT(files["gradsieve-worker-certificates"],
              ElementsAre("ca.pem", "worker-0.pem", "worker-0.key",
                          "worker-1.pem", "worker-1.key"));
}

TEST_F(Certificates, TheFileThatIsWrongIsNamed) {
  ASSERT_TRUE(WriteJobCertificates(Job(), folder_, Now()).ok());
  const Identity zero = {"lenet", Role::kWorker, 0};
  const CertificatePaths paths = CertificatePathsOf(folder_, zero);
  const auto check = [&] {
    return CheckCertificateFiles(paths, zero, absl::Now());
  };
  ASSERT_TRUE(check().ok()) << check();
  fs::permissions(paths.key, fs::perms(0644));
  ExpectSays(check(), "chmod 600 " + paths.key);
  fs::permissions(paths.key, fs::perms(0600));
  fs::rename(paths.certificate, paths.certificate + "x");
  ExpectSays(check(), paths.certificate);
  fs::rename(paths.certificate + "x", paths.certificate);
  fs::permissions(folder_, fs::perms(0755));
  ExpectSays(WriteJobCertificates(Job(), folder_, Now()).status(),
             "chmod 700 " + folder_);
}

}  // namespace
}  // namespace ps
