#include "security/job_certificates.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "security/private_files.h"

namespace ps {
namespace {

constexpr char kAuthority[] = "ca";
// The authority outlives the certificates that it will sign.
constexpr absl::Duration kAuthorityLasts = absl::Hours(24 * 365 * 10);
// This allows for clocks that are set while processes run.
constexpr absl::Duration kSkew = absl::Hours(24);
constexpr absl::Duration kOwnLast = absl::Hours(24 * 365);

std::string CertificatePath(const std::string& directory,
                            const std::string& name) {
  return absl::StrCat(directory, "/", name, ".pem");
}

std::string KeyPath(const std::string& directory, const std::string& name) {
  return absl::StrCat(directory, "/", name, ".key");
}

absl::Status WritePrivateFile(const std::string& path,
                              const std::string& bytes) {
  PS_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, 0600));
  PS_RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

// Writes the key first: a certificate without its key is of no use.
absl::Status WriteBoth(const std::string& directory, const std::string& name,
                       const KeyAndCertificate& both) {
  PS_RETURN_IF_ERROR(WritePrivateFile(KeyPath(directory, name), both.key));
  return WriteFileAtomically(CertificatePath(directory, name),
                             both.certificate);
}

// Returns the key; empty if there is none.
absl::StatusOr<std::string> ReadKeyIfThere(const std::string& path) {
  const absl::Status is_private = CheckPrivateKeyFile(path);
  if (absl::IsNotFound(is_private)) return "";
  PS_RETURN_IF_ERROR(is_private);
  return ReadFile(path);
}

}  // namespace

CertificatePaths CertificatePathsOf(const std::string& directory,
                                    const Identity& identity) {
  CertificatePaths paths;
  paths.authority = CertificatePath(directory, kAuthority);
  paths.certificate = CertificatePath(directory, ProcessNameOf(identity));
  paths.key = KeyPath(directory, ProcessNameOf(identity));
  return paths;
}

absl::Status CheckCertificateFiles(const CertificatePaths& paths,
                                   const Identity& identity, absl::Time now) {
  PS_RETURN_IF_ERROR(CheckPrivateKeyFile(paths.key));
  KeyAndCertificate mine;
  PS_ASSIGN_OR_RETURN(mine.key, ReadFile(paths.key));
  PS_ASSIGN_OR_RETURN(mine.certificate, ReadFile(paths.certificate));
  PS_ASSIGN_OR_RETURN(const std::string authority, ReadFile(paths.authority));
  return Annotate(CheckCertificate(mine, authority, identity, now),
                  absl::StrCat(paths.certificate, ", with ", paths.key, " and ",
                               paths.authority));
}

absl::StatusOr<bool> WriteJobCertificates(const JobConfig& config,
                                          const std::string& directory,
                                          const Validity& validity) {
  std::error_code ignored;
  std::filesystem::create_directories(
      std::filesystem::path(directory).parent_path(), ignored);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", directory));
  }
  PS_RETURN_IF_ERROR(CheckPrivateFolder(directory));
  KeyAndCertificate own;
  PS_ASSIGN_OR_RETURN(own.key, ReadKeyIfThere(KeyPath(directory, kAuthority)));
  const bool is_new = own.key.empty();
  const std::string authority_path = CertificatePath(directory, kAuthority);
  // A new authority would make the certificates of other machines useless.
  if (is_new && std::filesystem::exists(authority_path, ignored)) {
    return absl::FailedPreconditionError(absl::StrCat(
        authority_path, " is there, and its key, ",
        KeyPath(directory, kAuthority),
        ", is not; bring the key back, or make all certificates anew in "
        "another folder"));
  }
  if (is_new) {
    PS_ASSIGN_OR_RETURN(
        const CertificateAuthority made,
        CertificateAuthority::Create(
            {validity.begin, validity.begin + kAuthorityLasts}));
    own = made.own();
    PS_RETURN_IF_ERROR(WriteBoth(directory, kAuthority, own));
  } else {
    PS_ASSIGN_OR_RETURN(own.certificate, ReadFile(authority_path));
  }
  const CertificateAuthority authority(own);
  const auto issue = [&](Role role, int number) -> absl::Status {
    const Identity identity = {config.name(), role, number};
    const std::string name = ProcessNameOf(identity);
    PS_ASSIGN_OR_RETURN(const std::string key,
                        ReadKeyIfThere(KeyPath(directory, name)));
    PS_ASSIGN_OR_RETURN(const KeyAndCertificate issued,
                        authority.Issue(identity, validity, key));
    return key.empty() ? WriteBoth(directory, name, issued)
                       : WriteFileAtomically(CertificatePath(directory, name),
                                             issued.certificate);
  };
  for (int i = 0; i < config.cluster().num_servers(); ++i) {
    PS_RETURN_IF_ERROR(issue(Role::kServer, i));
  }
  for (int i = 0; i < config.cluster().num_workers(); ++i) {
    PS_RETURN_IF_ERROR(issue(Role::kWorker, i));
  }
  return is_new;
}

absl::Status WriteKubernetesSecrets(const JobConfig& config,
                                    const std::string& directory) {
  std::string text;
  const auto add_file = [&](const std::string& path) -> absl::Status {
    PS_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    absl::StrAppend(&text, "  ", path.substr(directory.size() + 1), ": ",
                    absl::Base64Escape(bytes), "\n");
    return absl::OkStatus();
  };
  const auto add_secret = [&](Role role, const std::string& name,
                              int num_processes) -> absl::Status {
    absl::StrAppend(&text, "---\napiVersion: v1\nkind: Secret\n",
                    "metadata:\n  name: ", name, "\ntype: Opaque\ndata:\n");
    PS_RETURN_IF_ERROR(add_file(CertificatePath(directory, kAuthority)));
    for (int i = 0; i < num_processes; ++i) {
      const CertificatePaths paths =
          CertificatePathsOf(directory, {config.name(), role, i});
      PS_RETURN_IF_ERROR(add_file(paths.certificate));
      PS_RETURN_IF_ERROR(add_file(paths.key));
    }
    return absl::OkStatus();
  };
  PS_RETURN_IF_ERROR(add_secret(Role::kServer, "gradsieve-server-certificates",
                                config.cluster().num_servers()));
  PS_RETURN_IF_ERROR(add_secret(Role::kWorker, "gradsieve-worker-certificates",
                                config.cluster().num_workers()));
  return WritePrivateFile(absl::StrCat(directory, "/secrets.yaml"), text);
}

absl::Status MakeOwnCertificates(const std::string& directory,
                                 JobConfig* config) {
  SecurityConfig* const security = config->mutable_security();
  if (security->mode() != SecurityConfig::MUTUAL_TLS ||
      !security->directory().empty()) {
    return absl::OkStatus();
  }
  const absl::Time now = absl::Now();
  PS_RETURN_IF_ERROR(
      WriteJobCertificates(*config, directory, {now - kSkew, now + kOwnLast})
          .status());
  security->set_directory(directory);
  return absl::OkStatus();
}

}  // namespace ps
