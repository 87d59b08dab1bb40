#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/counted.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/status_macros.h"
#include "security/job_certificates.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

constexpr int64_t kMaxDays = 3650;
// Clocks of other machines may be behind.
constexpr absl::Duration kSkew = absl::Hours(1);

struct Flags {
  std::string job;
  std::string output;
  int64_t days = 365;
  bool kubernetes = false;
  std::vector<std::string> overrides;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve certs";
  text.description =
      "Makes an authority for a job and the certificates and keys of all its "
      "servers and workers, for jobs whose processes talk over TCP "
      "(security.mode MUTUAL_TLS, the default). Run again, it keeps the "
      "authority and the keys and renews the certificates. Each machine needs "
      "ca.pem and the two files of each process that runs there, but never "
      "ca.key: with it, anybody can join the job as anyone.";
  text.examples = {
      {"gradsieve certs job.textproto --output=certs",
       "ca.pem, server-0.pem, server-0.key, worker-0.pem and so on; then set "
       "security.directory to the folder that has them on each machine"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "the files could not be written"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong, or a file that is there is"},
  };
  return text;
}

absl::Status Run(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const JobConfig config,
                      LoadJob(flags.job, flags.overrides));
  const absl::Time now = absl::Now();
  const absl::Time end = now + absl::Hours(24 * flags.days);
  PS_ASSIGN_OR_RETURN(
      const bool is_new,
      WriteJobCertificates(config, flags.output, {now - kSkew, end}));
  std::printf(
      "%s: certificates of %s and %s of job \"%s\", valid "
      "until %s, signed by %s authority there.\n"
      "On each machine, put ca.pem and the .pem and .key of its processes in a "
      "folder and set security.directory to it. Keep ca.key here.\n",
      flags.output.c_str(),
      Counted(config.cluster().num_servers(), "server").c_str(),
      Counted(config.cluster().num_workers(), "worker").c_str(),
      config.name().c_str(),
      absl::FormatTime("%Y-%m-%d", end, absl::UTCTimeZone()).c_str(),
      is_new ? "a new" : "the");
  if (!flags.kubernetes) return absl::OkStatus();
  PS_RETURN_IF_ERROR(WriteKubernetesSecrets(config, flags.output));
  std::printf(
      "For Kubernetes: kubectl apply -f %s/secrets.yaml. It has keys; whoever "
      "can read it can join the job.\n",
      flags.output.c_str());
  return absl::OkStatus();
}

}  // namespace

int RunCertsCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  command_line.AddRequiredOption(
      "output", "DIR",
      "The folder for all files; it is made, closed to other users.",
      &flags.output);
  command_line.AddOption("days", "N",
                         "How long the certificates are valid, 1 to 3650.",
                         &flags.days);
  command_line.AddSwitch("kubernetes",
                         "Also write DIR/secrets.yaml, Secrets with the files "
                         "of all servers and of all workers.",
                         &flags.kubernetes);
  AddOverrides(&command_line, &flags.overrides, "cluster.num_workers=8");
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::Status days =
      CheckOptionRanges({{"days", flags.days, 1, kMaxDays}});
  if (!days.ok()) return FailCommand("certs", days, kExitUsage);
  return EndCommand("certs", Run(flags));
}

}  // namespace ps
