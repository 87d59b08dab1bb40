#include "tools/launch/programs.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/run_together.h"
#include "tools/process/find_program.h"
#include "tools/process/temporary_directory.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

std::string FolderOf(const std::string& id) {
  return ".cache/gradsieve/bundles/" + id;
}

// The output of a program of this machine, found by the shell.
absl::StatusOr<std::string> RunHere(const std::string& command,
                                    Interrupts* interrupts) {
  PS_ASSIGN_OR_RETURN(const std::vector<CommandResult> results,
                      RunTogether({{{"/bin/sh", "-c", command}}}, interrupts));
  if (results[0].exit.ok()) return results[0].out;
  return absl::AbortedError(absl::StrCat(command, ": ", results[0].error, " (",
                                         DescribeExit(results[0].exit), ")"));
}

absl::StatusOr<std::string> Sha256Of(const std::string& path,
                                     Interrupts* interrupts) {
  PS_ASSIGN_OR_RETURN(const std::string line,
                      RunHere("sha256sum <" + QuoteForShell(path), interrupts));
  return line.substr(0, line.find(' '));
}

// The folder of the bundle that this program runs from; empty if none.
absl::StatusOr<std::string> OwnBundle() {
  PS_ASSIGN_OR_RETURN(const std::string self, OwnProgram());
  const fs::path root = fs::path(self).parent_path().parent_path();
  std::error_code error;
  const bool is_bundle = fs::is_regular_file(root / "CONTENTS", error) &&
                         fs::is_regular_file(root / "lib/launch.sh", error);
  return is_bundle ? root.string() : "";
}

absl::StatusOr<std::string> CompressionOf(const std::string& archive) {
  if (absl::EndsWith(archive, ".tar.xz")) return "J";
  if (absl::EndsWith(archive, ".tar.gz")) return "z";
  if (absl::EndsWith(archive, ".tar")) return "";
  return absl::InvalidArgumentError(absl::StrCat(
      "the bundle ", archive, " must be a .tar.xz, .tar.gz or .tar file"));
}

// The names of the hosts that do not have the bundle.
absl::StatusOr<std::vector<std::string>> HostsWithout(
    const std::string& id, const std::vector<LaunchHost>& hosts,
    Interrupts* interrupts, const LaunchRecord& record) {
  std::vector<ShortCommand> commands;
  for (const LaunchHost& host : hosts) {
    commands.push_back(
        {SshArguments(record.ssh, host.name, "test -d " + FolderOf(id))});
  }
  PS_ASSIGN_OR_RETURN(const std::vector<CommandResult> results,
                      RunTogether(commands, interrupts));
  std::vector<std::string> without;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const bool is_missing =
        results[i].exit.signal == 0 && results[i].exit.code == 1;
    if (is_missing) {
      without.push_back(hosts[i].name);
    } else {
      PS_RETURN_IF_ERROR(ResultOnHost(hosts[i].name, results[i]));
    }
  }
  return without;
}

absl::Status Send(const std::string& id, const std::string& archive,
                  const std::string& worker,
                  const std::vector<std::string>& hosts, Interrupts* interrupts,
                  const LaunchRecord& record) {
  PS_ASSIGN_OR_RETURN(const std::string compression, CompressionOf(archive));
  std::vector<UniqueFd> inputs;
  std::vector<ShortCommand> commands;
  for (const std::string& host : hosts) {
    inputs.emplace_back(open(archive.c_str(), O_RDONLY | O_CLOEXEC));
    if (inputs.back().get() < 0) {
      return absl::ErrnoToStatus(errno, "cannot read " + archive);
    }
    commands.push_back(
        {SshArguments(record.ssh, host, UnpackCommand(id, compression, worker)),
         inputs.back().get()});
  }
  PS_ASSIGN_OR_RETURN(const std::vector<CommandResult> results,
                      RunTogether(commands, interrupts));
  for (size_t i = 0; i < hosts.size(); ++i) {
    PS_RETURN_IF_ERROR(ResultOnHost(hosts[i], results[i]));
  }
  return absl::OkStatus();
}

}  // namespace

std::string UnpackCommand(const std::string& id, const std::string& compression,
                          const std::string& worker) {
  // Under another name until it is complete and its programs run.
  return "exec sh -c " +
         QuoteForShell(absl::StrCat(
             "umask 077; d=", FolderOf(id),
             "; mkdir -p \"${d%/*}\" && t=$(mktemp -d $d.XXXXXX) || exit 1; "
             "trap 'rm -rf \"$t\"' EXIT; tar -x",
             compression,
             "f - -C \"$t\" --strip-components=1 && "
             "\"$t/server/server\" --version >/dev/null && "
             "\"$t/",
             worker, "/", worker,
             "\" --version >/dev/null && "
             "{ [ -d $d ] || mv \"$t\" $d; }"));
}

absl::Status CheckProgramSource(const ProgramSource& source) {
  if (!source.folder.empty()) {
    if (source.bundle.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--bundle and --programs exclude each other");
  }
  if (!source.bundle.empty()) {
    std::error_code error;
    if (!fs::is_regular_file(source.bundle, error)) {
      return absl::NotFoundError("there is no file " + source.bundle);
    }
    return CompressionOf(source.bundle).status();
  }
  PS_ASSIGN_OR_RETURN(const std::string root, OwnBundle());
  if (!root.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the hosts need the programs: give --bundle=FILE with an archive that "
      "tools/bundle made, or --programs=DIR if every host has DIR/server and "
      "DIR/" +
      source.worker);
}

absl::Status PutProgramsOnHosts(const ProgramSource& source,
                                const std::vector<LaunchHost>& hosts,
                                Interrupts* interrupts, LaunchRecord* record) {
  PS_RETURN_IF_ERROR(CheckProgramSource(source));
  if (!source.folder.empty()) {
    record->server_program = source.folder + "/server";
    record->worker_program = absl::StrCat(source.folder, "/", source.worker);
    return absl::OkStatus();
  }
  std::string root;
  if (source.bundle.empty()) {
    PS_ASSIGN_OR_RETURN(root, OwnBundle());
  }
  PS_ASSIGN_OR_RETURN(
      const std::string id,
      Sha256Of(root.empty() ? source.bundle : root + "/CONTENTS", interrupts));
  record->server_program = FolderOf(id) + "/server/server";
  record->worker_program =
      absl::StrCat(FolderOf(id), "/", source.worker, "/", source.worker);
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> without,
                      HostsWithout(id, hosts, interrupts, *record));
  if (without.empty()) return absl::OkStatus();
  std::string archive = source.bundle;
  std::unique_ptr<TemporaryDirectory> temporary;
  if (!root.empty()) {
    PS_ASSIGN_OR_RETURN(temporary, TemporaryDirectory::Create());
    archive = temporary->path() + "/programs.tar.gz";
    const std::string name = fs::path(root).filename();
    std::vector<std::string> words = {
        "tar", "-czf", archive, "-C", fs::path(root).parent_path(), "--"};
    // A wheel has no worker.
    for (const char* part :
         {"CONTENTS", "VERSION", "lib", "server", "worker", "bridge"}) {
      if (!fs::exists(fs::path(root) / part)) continue;
      words.push_back(absl::StrCat(name, "/", part));
    }
    PS_RETURN_IF_ERROR(RunHere(QuoteForShell(words), interrupts).status());
  }
  return Send(id, archive, source.worker, without, interrupts, *record);
}

}  // namespace ps
