// A libFuzzer program for the parser that GRADSIEVE_FUZZ names, which first
// writes valid inputs to the folder GRADSIEVE_FUZZ_SEEDS. `run` builds it with
// clang and starts it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "google/protobuf/stubs/logging.h"
#include "tests/fuzz/parsers.h"

namespace {

const ps::FuzzedParser& Chosen() {
  static const ps::FuzzedParser* const chosen = [] {
    FLAGS_minloglevel = google::GLOG_FATAL;
    const char* const name = std::getenv("GRADSIEVE_FUZZ");
    for (const ps::FuzzedParser& parser : ps::FuzzedParsers()) {
      if (name != nullptr && parser.name == name) {
        return new ps::FuzzedParser(parser);
      }
      std::fprintf(stderr, "GRADSIEVE_FUZZ may be %s\n", parser.name.c_str());
    }
    std::exit(64);
  }();
  return *chosen;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  const char* const folder = std::getenv("GRADSIEVE_FUZZ_SEEDS");
  int number = 0;
  for (const std::string& seed : Chosen().seeds) {
    if (folder == nullptr) break;
    std::ofstream(std::string(folder) + "/seed-" + std::to_string(number++),
                  std::ios::binary)
        << seed;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Chosen().parse({reinterpret_cast<const char*>(data), size}).IgnoreError();
  return 0;
}
