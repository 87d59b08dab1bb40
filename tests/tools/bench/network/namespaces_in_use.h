// Which network namespaces there are, for tests that must leave none.
#ifndef TESTS_TOOLS_BENCH_NETWORK_NAMESPACES_IN_USE_H_
#define TESTS_TOOLS_BENCH_NETWORK_NAMESPACES_IN_USE_H_

#include <set>
#include <string>

namespace ps {

// As NetworkNamespace::id() has them: those in which a thread is, on which a
// process has a descriptor, or that are mounted as `ip netns` does it. No other
// namespace without a name goes on to exist (network_namespaces(7)). Only what
// this process may see.
std::set<std::string> NetworkNamespacesInUse();

// The network interfaces that this process sees.
std::set<std::string> NetworkInterfaces();

}  // namespace ps

#endif  // TESTS_TOOLS_BENCH_NETWORK_NAMESPACES_IN_USE_H_
