#include "bridge/shared_block.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bridge/block_for_test.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

const std::vector<ParameterInfo>& Tensors() {
  static const auto& tensors = *new std::vector<ParameterInfo>{
      {"a.weight", {3, 5}, 0}, {"a.bias", {3}, 15}, {"scale", {1}, 18}};
  return tensors;
}

std::string ErrorOf(UniqueFd memfd) {
  const auto block = SharedBlock::Map(std::move(memfd));
  EXPECT_FALSE(block.ok());
  return std::string(block.status().message());
}

std::string ErrorOf(const std::vector<ParameterInfo>& tensors) {
  return ErrorOf(MakeBlock(tensors));
}

TEST(SharedBlock, HasTheTensorsOfItsTable) {
  const UniqueFd memfd = MakeBlock(Tensors());
  const auto block = SharedBlock::Map(UniqueFd(dup(memfd.get())));
  ASSERT_TRUE(block.ok()) << block.status();
  ASSERT_EQ((*block)->tensors().size(), 3u);
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_EQ((*block)->tensors()[t].name, Tensors()[t].name);
    EXPECT_EQ((*block)->tensors()[t].shape, Tensors()[t].shape);
    EXPECT_EQ((*block)->tensors()[t].offset, Tensors()[t].offset);
  }
  EXPECT_EQ((*block)->num_elements(), 19);
  // The arrays end with the block, and are what the other process sees.
  (*block)->out()[18] = 1.5F;
  float seen = 0;
  const int64_t last = BlockBytes(Tensors()) - 4;
  ASSERT_EQ(pread(memfd.get(), &seen, sizeof(seen), last), 4);
  EXPECT_EQ(seen, 1.5F);
}

TEST(SharedBlock, OtherDescriptorsAreRefused) {
  const char* const rule = "must be a memfd that is sealed against shrinking";
  const std::string bytes = BlockHeader(Tensors());
  EXPECT_THAT(ErrorOf(MakeMemfd(bytes, BlockBytes(Tensors()),
                                /*sealed=*/false)),
              HasSubstr(rule));
  EXPECT_THAT(ErrorOf(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC))),
              HasSubstr(rule));
  EXPECT_THAT(ErrorOf(UniqueFd()), HasSubstr(rule));
}

TEST(SharedBlock, OtherSizesAreRefused) {
  const std::string bytes = BlockHeader(Tensors());
  EXPECT_THAT(ErrorOf(MakeMemfd("", 0)), HasSubstr("has 0 bytes"));
  EXPECT_THAT(ErrorOf(MakeMemfd("", 4096)),
              HasSubstr("does not begin with GSBRIDGE"));
  EXPECT_THAT(ErrorOf(MakeMemfd(bytes, BlockBytes(Tensors()) - 1)),
              HasSubstr("its tensors need"));
}

TEST(SharedBlock, TensorsThatCannotBeAreRefused) {
  EXPECT_THAT(ErrorOf(std::vector<ParameterInfo>{}), HasSubstr("0 tensors"));
  EXPECT_THAT(ErrorOf({{"a", {0}, 0}}), HasSubstr("the dimension 0"));
  EXPECT_THAT(ErrorOf({{"a", {4, -2}, 0}}), HasSubstr("elements"));
  EXPECT_THAT(ErrorOf({{"", {1}, 0}}), HasSubstr("0 bytes of name"));
  EXPECT_THAT(ErrorOf({{"a", {}, 0}}), HasSubstr("0 dimensions"));
}

// Also numbers whose product does not fit 64 bits.
TEST(SharedBlock, HugeTensorsAreRefused) {
  std::string bytes = BlockHeader({{"a", {2, 2}, 0}});
  const int64_t huge = int64_t{1} << 62;
  for (int i = 0; i < 2; ++i) {
    std::memcpy(&bytes[4096 + 8 + i * 8], &huge, sizeof(huge));
    EXPECT_THAT(ErrorOf(MakeMemfd(bytes, 1 << 16)), HasSubstr("the dimension"));
  }
}

// The result must be an error or a block that can be used.
TEST(SharedBlock, SurvivesEveryFlippedByte) {
  const std::string good = BlockHeader(Tensors());
  int refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    // The rest of the header means nothing.
    if (at == 32) at = 4096;
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      const auto block =
          SharedBlock::Map(MakeMemfd(bad, BlockBytes(Tensors())));
      if (!block.ok()) {
        ++refused;
        continue;
      }
      const int64_t n = (*block)->num_elements();
      (*block)->in()[0] = (*block)->out()[n - 1] = 1;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(SharedBlock, SurvivesEveryCut) {
  const std::string good = BlockHeader(Tensors());
  for (size_t size = 4096; size < good.size(); ++size) {
    // As if the table ended there.
    std::string bad = good.substr(0, size);
    const uint64_t table_bytes = size - 4096;
    std::memcpy(&bad[16], &table_bytes, sizeof(table_bytes));
    ErrorOf(MakeMemfd(bad, BlockBytes(Tensors())));
  }
}

}  // namespace
}  // namespace ps
