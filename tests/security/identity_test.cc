#include "security/identity.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(Identity, ItsUriIsReadBack) {
  for (const Identity& identity : {Identity{"job", Role::kServer, 0},
                                   Identity{"a.b_c-d", Role::kWorker, 3},
                                   Identity{"server", Role::kWorker, 1023}}) {
    const auto read = ParseIdentityUri(UriOf(identity));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, identity);
  }
  EXPECT_EQ(UriOf({"lenet", Role::kWorker, 3}),
            "spiffe://gradsieve/lenet/worker/3");
}

TEST(Identity, NothingElseIsOne) {
  for (const std::string uri :
       {"", "spiffe://gradsieve/", "spiffe://gradsieve/job/worker",
        "spiffe://gradsieve//worker/3", "spiffe://gradsieve/job/worker/",
        "spiffe://gradsieve/job/worker/03", "spiffe://gradsieve/job/worker/+3",
        "spiffe://gradsieve/job/worker/3 ", "spiffe://gradsieve/job/worker/3/",
        "spiffe://gradsieve/job/Worker/3", "spiffe://gradsieve/job/master/3",
        "spiffe://gradsieve/a/b/worker/3", "spiffe://elsewhere/job/worker/3",
        "SPIFFE://gradsieve/job/worker/3",
        "spiffe://gradsieve/job/worker/99999999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseIdentityUri(uri).status())) << uri;
  }
  const absl::Status status =
      ParseIdentityUri(std::string("a\n\0b", 4) + std::string(10000, 'x'))
          .status();
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("a\\n\\x00\\x62"));
  EXPECT_LT(status.message().size(), 1000);
}

}  // namespace
}  // namespace ps
