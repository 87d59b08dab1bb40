// The readers of what LGC's workers and servers tell each other, for fuzzing.
#ifndef TESTS_FUZZ_LGC_MESSAGES_H_
#define TESTS_FUZZ_LGC_MESSAGES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ps {

// The first byte chooses the reader, the others are read.
absl::Status FuzzLgc(absl::string_view bytes);

// Bytes that each of the readers takes.
std::vector<std::string> LgcMessages();

}  // namespace ps

#endif  // TESTS_FUZZ_LGC_MESSAGES_H_
