// Lists existing network namespaces, for tests that must leave none.
#ifndef TESTS_TOOLS_BENCH_NETWORK_NAMESPACES_IN_USE_H_
#define TESTS_TOOLS_BENCH_NETWORK_NAMESPACES_IN_USE_H_

#include <set>
#include <string>

namespace ps {

// Namespaces by NetworkNamespace::id(): those that a thread is in, that a
// process has a descriptor of, or that are mounted as by `ip netns`. No other
// namespaces continue to exist (network_namespaces(7)). Contains only those
// that this process may see.
std::set<std::string> NetworkNamespacesInUse();

// The network interfaces that this process sees.
std::set<std::string> NetworkInterfaces();

}  // namespace ps

#endif  // TESTS_TOOLS_BENCH_NETWORK_NAMESPACES_IN_USE_H_
