#include "tools/launch/host_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "security/job_certificates.h"
#include "tools/launch/remote_command.h"

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

absl::StatusOr<std::string> CopyCertificates(const LaunchedJob& job,
                                             const std::string& certificates,
                                             int host) {
  std::string script;
  for (const PlacedProcess& process : job.processes) {
    if (process.host != host) continue;
    const CertificatePaths paths = CertificatePathsOf(
        certificates, {job.config.name(), process.role, process.number});
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

// A file without a name that holds `text`, to be read from its start.
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

absl::StatusOr<std::string> HostFilesScript(const LaunchedJob& job,
                                            const std::string& certificates,
                                            int host) {
  const LaunchRecord& record = job.record;
  const std::string& folder = job.folder;
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
                  WriteFileCommand(kJob, ResolvedConfigText(job.config)),
                  WriteFileCommand(kLifeline, kLifelineScript));
  if (!certificates.empty()) {
    PS_ASSIGN_OR_RETURN(const std::string part,
                        CopyCertificates(job, certificates, host));
    script += part;
  }
  return script;
}

absl::StatusOr<std::vector<CommandResult>> RunScripts(
    const LaunchedJob& job, const std::vector<std::string>& scripts,
    Interrupts* interrupts) {
  std::vector<UniqueFd> inputs;
  std::vector<ShortCommand> commands;
  for (size_t i = 0; i < job.hosts.size(); ++i) {
    PS_ASSIGN_OR_RETURN(UniqueFd input, FileInMemory(scripts.at(i)));
    inputs.push_back(std::move(input));
    commands.push_back({SshArguments(job.record.ssh, job.hosts[i].name, "sh"),
                        inputs.back().get()});
  }
  return RunTogether(commands, interrupts);
}

absl::Status SendHostFiles(const LaunchedJob& job,
                           const std::string& certificates,
                           Interrupts* interrupts) {
  std::vector<std::string> scripts;
  for (size_t i = 0; i < job.hosts.size(); ++i) {
    PS_ASSIGN_OR_RETURN(
        scripts.emplace_back(),
        HostFilesScript(job, certificates, static_cast<int>(i)));
  }
  PS_ASSIGN_OR_RETURN(const std::vector<CommandResult> results,
                      RunScripts(job, scripts, interrupts));
  for (size_t i = 0; i < job.hosts.size(); ++i) {
    PS_RETURN_IF_ERROR(ResultOnHost(job.hosts[i].name, results[i]));
  }
  return absl::OkStatus();
}

}  // namespace ps
