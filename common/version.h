// The version of this project, as --version and metrics say it.
#ifndef COMMON_VERSION_H_
#define COMMON_VERSION_H_

namespace ps {

// Semantic versioning (semver.org).
constexpr char kVersion[] = "0.1.0";

}  // namespace ps

#endif  // COMMON_VERSION_H_
