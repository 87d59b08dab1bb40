#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/unique_fd.h"
#include "tools/bench/network/slow_network.h"
#include "tools/command_line/human_format.h"
#include "tools/doctor/findings.h"
#include "tools/process/find_program.h"

namespace ps {
namespace {

// The text after "KEY:" in a file of /proc; empty if there is none.
std::string ProcValue(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !absl::StartsWith(line, key)) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "";
}

Finding Kernel() {
  Finding finding{"kernel"};
  finding.required = true;
  utsname name = {};
  uname(&name);
  finding.text =
      absl::StrCat(name.sysname, " ", name.release, ", ", name.machine);
  const UniqueFd self(
      static_cast<int>(syscall(SYS_pidfd_open, getpid(), /*flags=*/0)));
  if (self.get() < 0) {
    absl::StrAppend(&finding.text,
                    ", without pidfd_open(2): ", std::strerror(errno));
    finding.consequence =
        "gradsieve train and bench do not work, which watch their processes by "
        "it; server and worker do. It came with Linux 5.3";
  }
  return finding;
}

Finding CLibrary() {
  Finding finding{"C library"};
  finding.text = absl::StrCat("glibc ", gnu_get_libc_version());
  // __tls_get_addr is a function of the loader itself. getauxval(AT_BASE) would
  // not do: it is 0 if the loader was started explicitly.
  const auto loader = FileOfCode(dlsym(RTLD_DEFAULT, "__tls_get_addr"));
  const auto library =
      FileOfCode(reinterpret_cast<const void*>(&gnu_get_libc_version));
  if (library.ok()) absl::StrAppend(&finding.text, ", ", *library);
  if (loader.ok()) absl::StrAppend(&finding.text, ", loaded by ", *loader);
  return finding;
}

Finding Processor() {
  Finding finding{"processor"};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int num_allowed = sched_getaffinity(0, sizeof(allowed), &allowed) == 0
                              ? CPU_COUNT(&allowed)
                              : 0;
  std::vector<std::string> features;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.1")) features.push_back("SSE4.1");
  if (__builtin_cpu_supports("avx2")) features.push_back("AVX2");
  if (__builtin_cpu_supports("fma")) features.push_back("FMA");
  if (__builtin_cpu_supports("avx512bw")) features.push_back("AVX-512");
  if (__builtin_cpu_supports("avx512vnni")) features.push_back("VNNI");
  if (__builtin_cpu_supports("avx512bf16")) features.push_back("BF16");
#endif
  const std::string model = ProcValue("/proc/cpuinfo", "model name");
  finding.text =
      absl::StrCat(model.empty() ? "unknown" : model, "; ", num_allowed, " of ",
                   sysconf(_SC_NPROCESSORS_ONLN), " CPUs may be used; ",
                   features.empty() ? "no vector extensions"
                                    : absl::StrJoin(features, ", "));
  return finding;
}

Finding Memory() {
  const int64_t page = sysconf(_SC_PAGESIZE);
  Finding finding{"memory"};
  finding.text = FormatBytes(sysconf(_SC_PHYS_PAGES) * page);
  // For example "19387544 kB".
  const std::string available = ProcValue("/proc/meminfo", "MemAvailable");
  int64_t kibibytes = 0;
  if (absl::SimpleAtoi(available.substr(0, available.find(' ')), &kibibytes)) {
    absl::StrAppend(&finding.text, ", ", FormatBytes(kibibytes << 10),
                    " of it available");
  }
  return finding;
}

Finding OpenFiles() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  Finding finding{"open files",
                  absl::StrCat("a process may have ", limit.rlim_cur)};
  // Enough for the connections, logs and data files of one server with some
  // tens of workers.
  if (limit.rlim_cur < 256) {
    finding.consequence =
        "servers with many workers run out of them; raise it with ulimit -n";
  }
  return finding;
}

Finding FreePort() {
  Finding finding{"ports"};
  finding.required = true;
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (fd.get() < 0 || bind(fd.get(), plain, size) != 0 ||
      listen(fd.get(), 1) != 0 || getsockname(fd.get(), plain, &size) != 0) {
    finding.text =
        absl::StrCat("cannot listen on 127.0.0.1: ", std::strerror(errno));
    finding.consequence = "servers cannot be reached on this machine";
    return finding;
  }
  finding.text = absl::StrCat("127.0.0.1:", ntohs(address.sin_port),
                              " and others are free");
  return finding;
}

Finding HostNames() {
  Finding finding{"host names"};
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  for (const std::string& name :
       {std::string("localhost"), std::string(host)}) {
    addrinfo* result = nullptr;
    const int error = getaddrinfo(name.c_str(), nullptr, nullptr, &result);
    if (error == 0) freeaddrinfo(result);
    absl::StrAppend(&finding.text, finding.text.empty() ? "" : ", ", name,
                    error == 0 ? " is known" : " is not known: ",
                    error == 0 ? "" : gai_strerror(error));
    if (error != 0) {
      finding.consequence =
          "in cluster.servers, give addresses as numbers instead of this name, "
          "or put it into /etc/hosts";
    }
  }
  return finding;
}

Finding SlowNetworks() {
  const absl::Status available = SlowNetwork::CheckAvailable();
  return {"slow networks",
          available.ok() ? "can be made on this machine"
                         : std::string(available.message()),
          available.ok() ? "" : "gradsieve bench network does not work"};
}

}  // namespace

FindingGroup FindMachine() {
  return {"This machine",
          {Kernel(), CLibrary(), Processor(), Memory(), OpenFiles(), FreePort(),
           HostNames(), SlowNetworks()}};
}

}  // namespace ps
