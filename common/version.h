// The version of this project, as --version and metrics report it.
#ifndef COMMON_VERSION_H_
#define COMMON_VERSION_H_

namespace ps {

// Semantic versioning (semver.org).
constexpr char kVersion[] = "0.1.0";

// The version of the protocol between servers and workers, and of the servers'
// logs. It counts the incompatible changes.
constexpr int kProtocol = 1;

}  // namespace ps

#endif  // COMMON_VERSION_H_
