// The version of this project, as --version and metrics say it.
#ifndef COMMON_VERSION_H_
#define COMMON_VERSION_H_

namespace ps {

// Semantic versioning (semver.org).
constexpr char kVersion[] = "0.1.0";

// Of what servers and workers say to each other, and of what servers write into
// their logs. Counts the changes after which one of them would misunderstand
// another.
constexpr int kProtocol = 1;

}  // namespace ps

#endif  // COMMON_VERSION_H_
