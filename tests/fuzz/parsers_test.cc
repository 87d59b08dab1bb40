// A bounded run of every parser: its seeds, and inputs that are made of them by
// changing, cutting, repeating and mixing bytes. What they do with memory is
// for AddressSanitizer to see; `run` searches for longer, with libFuzzer.
#include "tests/fuzz/parsers.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "glog/logging.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

// Only AddressSanitizer sees what a parser does with memory.
#ifdef __SANITIZE_ADDRESS__
constexpr int kInputs = 20000;
#else
constexpr int kInputs = 500;
#endif

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string Change(const std::string& input, const std::string& other) {
    std::string bytes = input;
    for (int64_t left = 1 + Draw(4); left > 0; --left)
      ChangeOnce(other, &bytes);
    return bytes;
  }

  int64_t Draw(int64_t below) {
    return below <= 0 ? 0 : static_cast<int64_t>(random_() % below);
  }

 private:
  void ChangeOnce(const std::string& other, std::string* bytes) {
    const int64_t size = static_cast<int64_t>(bytes->size());
    const int64_t at = Draw(size + 1);
    const int64_t count = std::min(size - at, 1 + Draw(8));
    switch (Draw(6)) {
      case 0:
        if (at < size) (*bytes)[at] ^= static_cast<char>(1 << Draw(8));
        break;
      case 1:
        bytes->erase(at, count);
        break;
      case 2:
        bytes->insert(at, bytes->substr(at, count));
        break;
      case 3:
        // Numbers at which sizes go wrong.
        for (int64_t i = at; i < at + count; ++i) {
          (*bytes)[i] = "\x00\xff\x7f\x80"[Draw(4)];
        }
        break;
      case 4:
        bytes->resize(at);
        break;
      default:
        bytes->insert(at, other.substr(Draw(other.size() + 1), 1 + Draw(64)));
    }
  }

  std::mt19937_64 random_;
};

class Fuzzed : public testing::TestWithParam<FuzzedParser> {};

TEST_P(Fuzzed, ReturnsWhateverItReads) {
  const FuzzedParser& parser = GetParam();
  FLAGS_minloglevel = google::GLOG_FATAL;
  google::protobuf::SetLogHandler(nullptr);
  ASSERT_FALSE(parser.seeds.empty());
  Mutator mutator(1);
  const auto seed = [&]() -> const std::string& {
    return parser.seeds[mutator.Draw(parser.seeds.size())];
  };
  for (const std::string& valid : parser.seeds) {
    const absl::Status taken = parser.parse(valid);
    EXPECT_TRUE(taken.ok()) << taken;
  }
  parser.parse("").IgnoreError();
  std::string input;
  for (int i = 0; i < kInputs; ++i) {
    // A few changes of the same input, one after the other.
    input = mutator.Change(i % 4 == 0 ? seed() : input, seed());
    parser.parse(input).IgnoreError();
  }
}

INSTANTIATE_TEST_SUITE_P(, Fuzzed, testing::ValuesIn(FuzzedParsers()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ps
