#include "common/host_and_port.h"

#include <cstddef>

#include "absl/strings/numbers.h"

namespace ps {

bool IsHostAndPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  return colon != absl::string_view::npos && colon > 0 &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 0 &&
         port <= 65535;
}

}  // namespace ps
