// Addresses of processes in configs and on command lines.
#ifndef COMMON_HOST_AND_PORT_H_
#define COMMON_HOST_AND_PORT_H_

#include "absl/strings/string_view.h"

namespace ps {

// Whether `address` is host:port with a port in [0, 65535].
bool IsHostAndPort(absl::string_view address);

}  // namespace ps

#endif  // COMMON_HOST_AND_PORT_H_
