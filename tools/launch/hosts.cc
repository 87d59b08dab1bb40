#include "tools/launch/hosts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/host_and_port.h"
#include "common/status_macros.h"

namespace ps {
namespace {

constexpr int kMaxWorkersOnHost = 1024;
constexpr int kMaxPort = 65535;

bool HasOnly(absl::string_view text, absl::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains(others, c);
  });
}

// A name must not be taken for an option of ssh.
bool IsName(absl::string_view name) {
  return !absl::StartsWith(name, "-") && HasOnly(name, "._-");
}

absl::StatusOr<LaunchHost> ParseHost(absl::string_view text) {
  LaunchHost host;
  absl::string_view rest = text;
  const auto wrong = [text](absl::string_view rule) {
    return absl::InvalidArgumentError(
        absl::StrCat("host \"", text, "\": ", rule));
  };
  // The colons of an IPv6 address are in brackets.
  const size_t colon = rest.rfind(':');
  if (colon != rest.npos && !absl::StrContains(rest.substr(colon), ']')) {
    if (!absl::SimpleAtoi(rest.substr(colon + 1), &host.num_workers) ||
        host.num_workers < 0 || host.num_workers > kMaxWorkersOnHost) {
      return wrong(
          absl::StrCat("the number of workers after the colon must be 0 to ",
                       kMaxWorkersOnHost, ", as in gpu1:4"));
    }
    rest = rest.substr(0, colon);
  }
  const std::pair<absl::string_view, absl::string_view> name_and_address =
      absl::StrSplit(rest, absl::MaxSplits('=', 1));
  host.name = std::string(name_and_address.first);
  const bool has_address = absl::StrContains(rest, '=');
  const std::vector<absl::string_view> user_and_name =
      absl::StrSplit(host.name, absl::MaxSplits('@', 1));
  if (!std::all_of(user_and_name.begin(), user_and_name.end(), IsName)) {
    return wrong(
        "the name for ssh must be NAME or USER@NAME, of letters, digits, "
        "\".\", \"_\" and \"-\"");
  }
  host.address =
      std::string(has_address ? name_and_address.second : user_and_name.back());
  if (!IsHostAndPort(host.address + ":0")) {
    return wrong(
        "the address after \"=\" must be a name, an IPv4 address, or an IPv6 "
        "address in brackets");
  }
  return host;
}

}  // namespace

absl::StatusOr<std::vector<LaunchHost>> ParseHosts(absl::string_view text) {
  std::vector<LaunchHost> hosts;
  std::set<std::string> names;
  std::map<std::string, std::string> name_of_address;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    PS_ASSIGN_OR_RETURN(LaunchHost host,
                        ParseHost(absl::StripAsciiWhitespace(part)));
    if (!names.insert(host.name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "host \"", host.name, "\" is named twice; give it more workers"));
    }
    const auto [other, is_new] =
        name_of_address.emplace(host.address, host.name);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat("hosts \"", other->second, "\" and \"", host.name,
                       "\" have the same address, ", host.address,
                       "; name a host once, and give it more workers"));
    }
    hosts.push_back(std::move(host));
  }
  if (NumWorkers(hosts) == 0) {
    return absl::InvalidArgumentError("the hosts have no workers");
  }
  return hosts;
}

bool IsNumber(absl::string_view address) {
  return absl::StartsWith(address, "[") ||
         std::all_of(address.begin(), address.end(),
                     [](char c) { return absl::ascii_isdigit(c) || c == '.'; });
}

int NumWorkers(const std::vector<LaunchHost>& hosts) {
  int sum = 0;
  for (const LaunchHost& host : hosts) sum += host.num_workers;
  return sum;
}

std::string PlacedProcess::name() const {
  return ProcessNameOf({/*job=*/"", role, number});
}

absl::StatusOr<std::vector<PlacedProcess>> PlaceProcesses(
    const std::vector<LaunchHost>& hosts, int num_servers, int port) {
  std::vector<PlacedProcess> processes;
  const int num_hosts = static_cast<int>(hosts.size());
  for (int i = 0; i < num_servers; ++i) {
    processes.push_back({Role::kServer, /*number=*/i, /*host=*/i % num_hosts,
                         /*port=*/port + i / num_hosts});
  }
  if (port < 1 || port + (num_servers - 1) / num_hosts > kMaxPort) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the servers' ports, from ", port, " on, must be 1 to ", kMaxPort));
  }
  int rank = 0;
  for (int host = 0; host < num_hosts; ++host) {
    if (hosts[host].num_workers == 0 && host >= num_servers) {
      return absl::InvalidArgumentError(absl::StrCat(
          "host \"", hosts[host].name, "\" has neither a worker nor one of ",
          "the job's ", num_servers, " servers"));
    }
    for (int i = 0; i < hosts[host].num_workers; ++i) {
      processes.push_back({Role::kWorker, /*number=*/rank++, host, /*port=*/0});
    }
  }
  return processes;
}

std::vector<std::string> ServerAddresses(
    const std::vector<LaunchHost>& hosts,
    const std::vector<PlacedProcess>& processes) {
  std::vector<std::string> addresses;
  for (const PlacedProcess& process : processes) {
    if (!process.is_server()) continue;
    addresses.push_back(
        absl::StrCat(hosts[process.host].address, ":", process.port));
  }
  return addresses;
}

std::string ListenAddress(const LaunchHost& host, int port) {
  return absl::StrCat(IsNumber(host.address) ? host.address : "0.0.0.0", ":",
                      port);
}

}  // namespace ps
