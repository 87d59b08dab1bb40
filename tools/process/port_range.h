// Ports that the options of a command give to processes of one machine.
#ifndef TOOLS_PROCESS_PORT_RANGE_H_
#define TOOLS_PROCESS_PORT_RANGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ps {

// `count` processes listen at `address`, "host:port" or "port", and at the
// ports after it. Port 0 is a free one for each.
struct PortRange {
  std::string option;  // For messages: "--page".
  std::string address;
  int count = 1;
};

// Addresses that are not of one of the two forms are passed over. Errors:
// kInvalidArgument for a range that goes beyond the last port, and for two that
// share a port, unless they are at different addresses.
absl::Status CheckPortRanges(const std::vector<PortRange>& ranges);

}  // namespace ps

#endif  // TOOLS_PROCESS_PORT_RANGE_H_
