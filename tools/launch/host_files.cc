#include "tools/launch/host_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "security/job_certificates.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/run_together.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

constexpr char kCertificates[] = "certificates";
constexpr char kLifeline[] = "lifeline.sh";
constexpr char kJob[] = "job.textproto";

// Part of a script that copies a file from this machine into the certificates.
absl::StatusOr<std::string> CopyCertificate(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return WriteFileCommand(
      absl::StrCat(kCertificates, "/", fs::path(path).filename().string()),
      text);
}

absl::StatusOr<std::string> CopyCertificates(const HostFilesOptions& options,
                                             int host) {
  std::string script;
  for (const PlacedProcess& process : *options.processes) {
    if (process.host != host) continue;
    const CertificatePaths paths = CertificatePathsOf(
        options.certificates,
        {options.config->name(), process.role, process.number});
    if (script.empty()) {
      PS_ASSIGN_OR_RETURN(script, CopyCertificate(paths.authority));
    }
    for (const std::string& path : {paths.certificate, paths.key}) {
      PS_ASSIGN_OR_RETURN(const std::string part, CopyCertificate(path));
      script += part;
    }
  }
  return script;
}

}  // namespace

std::string RemoteRunFolder(const std::string& run_directory) {
  const fs::path path = fs::absolute(run_directory).lexically_normal();
  // A path that ends with a slash has an empty last part.
  std::string name =
      path.has_filename() ? path.filename() : path.parent_path().filename();
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("._+-", c)) c = '_';
  }
  return ".cache/gradsieve/runs/" + name;
}

std::string RemoteJobPath(const std::string& folder) {
  return absl::StrCat(folder, "/", kJob);
}
std::string RemoteCertificates(const std::string& folder) {
  return absl::StrCat(folder, "/", kCertificates);
}
std::string RemoteLifeline(const std::string& folder) {
  return absl::StrCat(folder, "/", kLifeline);
}
std::string RemoteRecords(const std::string& folder) {
  return folder + "/records";
}

absl::StatusOr<UniqueFd> FileInMemory(absl::string_view text) {
  UniqueFd file(memfd_create("gradsieve", MFD_CLOEXEC));
  while (file.get() >= 0 && !text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0) break;
    text.remove_prefix(static_cast<size_t>(written));
  }
  if (!text.empty() || lseek(file.get(), 0, SEEK_SET) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a file in memory");
  }
  return file;
}

absl::StatusOr<std::string> HostFilesScript(const HostFilesOptions& options,
                                            int host) {
  const LaunchRecord& record = *options.record;
  const std::string folder = RemoteRunFolder(options.run_directory);
  std::string script =
      CheckProgramsCommand({record.server_program, record.worker_program});
  absl::StrAppend(&script, "umask 077\nmkdir -p ", RemoteCertificates(folder),
                  " ", RemoteRecords(folder), " && cd ", folder,
                  " && chmod 700 . ", kCertificates, " || exit 1\n",
                  // Of two that begin at once, only one can make the file.
                  "if ! (set -C; echo ", QuoteForShell(record.run_id),
                  " >run_id) 2>/dev/null && [ -e run_id ] && "
                  "[ \"$(cat run_id)\" != ",
                  QuoteForShell(record.run_id), " ]; then\n  echo ",
                  QuoteForShell(absl::StrCat(
                      "~/", folder,
                      " belongs to another run; name another directory with "
                      "--run-dir, or remove it there")),
                  " >&2\n  exit 1\nfi\n",
                  WriteFileCommand(kJob, ResolvedConfigText(*options.config)),
                  WriteFileCommand(kLifeline, kLifelineScript));
  if (!options.certificates.empty()) {
    PS_ASSIGN_OR_RETURN(const std::string part,
                        CopyCertificates(options, host));
    script += part;
  }
  return script;
}

absl::Status SendHostFiles(const HostFilesOptions& options,
                           Interrupts* interrupts) {
  const std::vector<LaunchHost>& hosts = *options.hosts;
  std::vector<UniqueFd> scripts;
  std::vector<ShortCommand> commands;
  for (size_t i = 0; i < hosts.size(); ++i) {
    PS_ASSIGN_OR_RETURN(const std::string script,
                        HostFilesScript(options, static_cast<int>(i)));
    PS_ASSIGN_OR_RETURN(UniqueFd file, FileInMemory(script));
    scripts.push_back(std::move(file));
    commands.push_back({SshArguments(options.record->ssh, hosts[i].name, "sh"),
                        scripts.back().get()});
  }
  PS_ASSIGN_OR_RETURN(const std::vector<CommandResult> results,
                      RunTogether(commands, interrupts));
  for (size_t i = 0; i < hosts.size(); ++i) {
    PS_RETURN_IF_ERROR(ResultOnHost(hosts[i].name, results[i]));
  }
  return absl::OkStatus();
}

}  // namespace ps
