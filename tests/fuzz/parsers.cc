#include "tests/fuzz/parsers.h"

namespace ps {

std::vector<FuzzedParser> FuzzedParsers() {
  std::vector<FuzzedParser> all = ParsersOfMessages();
  for (const auto& more : {ParsersOfFiles(), ParsersOfState()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace ps
