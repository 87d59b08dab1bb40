#include "tools/manifests_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/counted.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "proto/config.pb.h"
#include "security/job_certificates.h"
#include "tools/command_failure.h"
#include "tools/option_range.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

// "NAME-gradsieve-worker-12-x7k2p" has at most 63 letters (RFC 1123).
constexpr size_t kLongestName = 32;
constexpr int kMostProcesses = 1000;
// Certificates of `gradsieve certs` are not renewed while a run goes on.
constexpr absl::Duration kValid = absl::Hours(24 * 365);
constexpr absl::Duration kSkew = absl::Hours(1);
constexpr char kHeader[] =
    "# Written by `gradsieve manifests`; docs/kubernetes.md.\n";

// Where the run's label belongs, so that runs in one namespace keep apart.
// includeSelectors would also label volumeClaimTemplates, which cannot change.
constexpr char kLabelFields[] = R"(  fields:
  - {kind: Service, path: spec/selector, create: true}
  - {kind: StatefulSet, path: spec/selector/matchLabels, create: true}
  - {kind: StatefulSet, path: spec/template/metadata/labels, create: true}
  - {kind: Job, path: spec/template/metadata/labels, create: true}
  - kind: StatefulSet
    path: spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels
  - kind: Job
    path: spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels
  - {kind: PodDisruptionBudget, path: spec/selector/matchLabels}
  - {kind: PodMonitor, path: spec/selector/matchLabels}
  - {kind: NetworkPolicy, path: spec/podSelector/matchLabels}
  - {kind: NetworkPolicy, path: spec/ingress/from/podSelector/matchLabels}
  - {kind: NetworkPolicy, path: spec/egress/to/podSelector/matchLabels}
)";

struct Flags {
  std::string job;
  std::string output;
  std::string name;
  int workers = 0;
  int servers = 0;
  std::string base = "deploy/k8s/base";
  std::vector<std::string> components;
  bool cert_manager = false;
  std::string data_claim;
  int worker_cpus = 0;
  std::string worker_memory;
  std::string server_memory;
  std::vector<std::string> overrides;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve manifests";
  text.description =
      "Writes a folder that `kubectl apply -k` takes: an overlay of the base "
      "with "
      "the job, as many servers and workers as it has, their addresses and "
      "their "
      "certificates. All names begin with the name of the run, so that several "
      "runs can share a namespace.";
  text.examples = {
      {"gradsieve manifests job.textproto --name=run1 --workers=6 --servers=3 "
       "--output=run1",
       "then kubectl apply -k run1"},
      {"gradsieve manifests job.textproto --name=big --workers=16 "
       "--component=deploy/k8s/components/gpu --data-claim=imagenet "
       "--cert-manager --output=big",
       "on GPUs, with data, and with certificates that cert-manager makes"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "the files could not be written"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong"},
  };
  return text;
}

// A label of RFC 1123, since names of objects begin with it.
absl::Status CheckName(const std::string& option, const std::string& name,
                       size_t longest) {
  bool valid = !name.empty() && name.size() <= longest &&
               absl::ascii_isalnum(name.back()) && name.front() >= 'a' &&
               name.front() <= 'z';
  for (const char c : name) {
    valid =
        valid && (absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-');
  }
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", option, " is \"", name, "\"; must be at most ", longest,
      " small letters, digits and hyphens, begin with a letter and not end "
      "with "
      "a hyphen, as names of Kubernetes do"));
}

// "4Gi", "500M", "2": what Kubernetes calls a quantity.
absl::Status CheckQuantity(const std::string& option, const std::string& text) {
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(text[digits])) ++digits;
  const std::string unit = text.substr(digits);
  for (const char* known : {"", "Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"}) {
    if (digits > 0 && unit == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, " is \"", text,
                   "\"; must be a number and a unit of Kubernetes, as in 4Gi"));
}

absl::Status CheckFlags(const Flags& flags) {
  PS_RETURN_IF_ERROR(CheckName("name", flags.name, kLongestName));
  for (const auto& [option, number] :
       {std::pair("workers", flags.workers),
        std::pair("servers", flags.servers),
        std::pair("worker-cpus", flags.worker_cpus)}) {
    if (number == 0) continue;
    PS_RETURN_IF_ERROR(CheckOptionRange(option, number, 1, kMostProcesses));
  }
  if (!flags.data_claim.empty()) {
    PS_RETURN_IF_ERROR(CheckName("data-claim", flags.data_claim, 63));
  }
  for (const auto& [option, memory] :
       {std::pair("worker-memory", flags.worker_memory),
        std::pair("server-memory", flags.server_memory)}) {
    if (!memory.empty()) PS_RETURN_IF_ERROR(CheckQuantity(option, memory));
  }
  return absl::OkStatus();
}

// The path by which a kustomization in `output` names what lies at `path`.
absl::StatusOr<std::string> PathFrom(const std::string& output,
                                     const std::string& path) {
  if (absl::StrContains(path, "://")) return path;
  if (!fs::exists(fs::path(path) / "kustomization.yaml")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     " has no kustomization.yaml; it must be a folder of "
                     "deploy/k8s, which comes with every clone and bundle"));
  }
  std::error_code failed;
  const fs::path relative = fs::relative(fs::weakly_canonical(path),
                                         fs::weakly_canonical(output), failed);
  return failed ? fs::absolute(path).string() : relative.string();
}

// What a job must have to run from the base's manifests.
void FitToBase(const Flags& flags, JobConfig* config) {
  config->set_name(flags.name);
  ClusterConfig* const cluster = config->mutable_cluster();
  if (flags.workers > 0) cluster->set_num_workers(flags.workers);
  if (flags.servers > 0) cluster->set_num_servers(flags.servers);
  cluster->clear_servers();
  for (int i = 0; i < cluster->num_servers(); ++i) {
    cluster->add_servers(absl::StrCat(flags.name, "-gradsieve-server-", i, ".",
                                      flags.name, "-gradsieve-server:50051"));
  }
  // Nodes pull images, and evicted pods wait for another node.
  if (!cluster->has_startup_timeout_seconds()) {
    cluster->set_startup_timeout_seconds(900);
  }
  if (!cluster->has_lost_worker_timeout_seconds()) {
    cluster->set_lost_worker_timeout_seconds(600);
  }
  if (!cluster->has_lost_server_timeout_seconds()) {
    cluster->set_lost_server_timeout_seconds(600);
  }
  config->mutable_checkpoint()->set_directory("/var/lib/gradsieve/checkpoints");
  config->mutable_security()->set_directory("/etc/gradsieve/certificates");
  if (config->machine().worker_threads() == 0) {
    // The nodes' other cores are others'.
    config->mutable_machine()->set_worker_threads(
        std::max(1, flags.worker_cpus));
  }
}

// One certificate of cert-manager. The name of the Secret is no reference that
// kustomize knows, so that it has its prefix here.
std::string Certificate(const std::string& run, const std::string& role,
                        int i) {
  const std::string process = absl::StrCat(role, "-", i);
  return absl::StrCat(
      "---\napiVersion: cert-manager.io/v1\nkind: Certificate\n"
      "metadata:\n  name: gradsieve-",
      process, "\nspec:\n  secretName: ", run, "-gradsieve-", process,
      "-tls\n  commonName: ", process, "\n  uris:\n  - spiffe://gradsieve/",
      run, "/", role, "/", i, "\n  usages: [digital signature, ",
      // Servers are also clients, of server 0.
      role == "server" ? "server auth, " : "",
      "client auth]\n  duration: 2160h\n  renewBefore: 720h\n  privateKey:\n"
      "    algorithm: ECDSA\n    size: 256\n    encoding: PKCS8\n"
      "    rotationPolicy: Always\n  issuerRef:\n    name: ",
      run,
      "-gradsieve-authority\n    kind: Issuer\n    group: cert-manager.io\n");
}

std::string CertManagerObjects(const JobConfig& config) {
  const std::string& run = config.name();
  std::string text = absl::StrCat(
      kHeader,
      "# An authority of this run, and a certificate for each process, which\n"
      "# cert-manager renews.\n"
      "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata:\n"
      "  name: gradsieve-self-signed\nspec:\n  selfSigned: {}\n"
      "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n"
      "  name: gradsieve-authority\nspec:\n  isCA: true\n"
      "  commonName: gradsieve authority\n  secretName: ",
      run,
      "-gradsieve-authority\n"
      "  # Longer than any run, and with the same key if it is ever renewed.\n"
      "  duration: 87600h\n  privateKey:\n    algorithm: ECDSA\n    size: 256\n"
      "    rotationPolicy: Never\n  issuerRef:\n    name: ",
      run,
      "-gradsieve-self-signed\n    kind: Issuer\n    group: cert-manager.io\n"
      "---\napiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata:\n"
      "  name: gradsieve-authority\nspec:\n  ca:\n    secretName: ",
      run, "-gradsieve-authority\n");
  for (int i = 0; i < config.cluster().num_servers(); ++i) {
    text += Certificate(run, "server", i);
  }
  for (int i = 0; i < config.cluster().num_workers(); ++i) {
    text += Certificate(run, "worker", i);
  }
  return text;
}

// The volume with the Secrets that cert-manager makes.
std::string CertManagerVolume(const JobConfig& config, const std::string& role,
                              int number) {
  std::string text =
      "      - name: certificates\n        secret: null\n        projected:\n"
      "          defaultMode: 288  # 0440\n          sources:\n";
  for (int i = 0; i < number; ++i) {
    const std::string process = absl::StrCat(role, "-", i);
    absl::StrAppend(
        &text, "          - secret:\n              name: ", config.name(),
        "-gradsieve-", process, "-tls\n              items:\n",
        i == 0 ? "              - {key: ca.crt, path: ca.pem}\n" : "",
        "              - {key: tls.crt, path: ", process,
        ".pem}\n              - {key: tls.key, path: ", process, ".key}\n");
  }
  return text;
}

// `counts` are fields of the spec, `container` fields of the container, and
// `volumes` entries of the list of volumes; each may be empty.
std::string Patch(const std::string& kind, const std::string& role,
                  const std::string& counts, const std::string& container,
                  const std::string& volumes) {
  std::string text = absl::StrCat(
      kHeader, "apiVersion: ", role == "server" ? "apps/v1" : "batch/v1",
      "\nkind: ", kind, "\nmetadata:\n  name: gradsieve-", role, "\nspec:\n",
      counts);
  if (container.empty() && volumes.empty()) return text;
  absl::StrAppend(&text, "  template:\n    spec:\n");
  if (!container.empty()) {
    absl::StrAppend(&text, "      containers:\n      - name: ", role, "\n",
                    container);
  }
  if (!volumes.empty()) absl::StrAppend(&text, "      volumes:\n", volumes);
  return text;
}

std::string Resources(int cpus, const std::string& memory) {
  if (cpus == 0 && memory.empty()) return "";
  std::string text = "        resources:\n          requests:\n";
  if (cpus > 0) absl::StrAppend(&text, "            cpu: \"", cpus, "\"\n");
  if (!memory.empty()) {
    absl::StrAppend(&text, "            memory: ", memory,
                    "\n          limits:\n            memory: ", memory, "\n");
  }
  return text;
}

std::string ServerPatch(const Flags& flags, const JobConfig& config) {
  const int number = config.cluster().num_servers();
  return Patch(
      "StatefulSet", "server", absl::StrCat("  replicas: ", number, "\n"),
      Resources(0, flags.server_memory),
      flags.cert_manager ? CertManagerVolume(config, "server", number) : "");
}

std::string WorkerPatch(const Flags& flags, const JobConfig& config) {
  const int number = config.cluster().num_workers();
  std::string container = Resources(flags.worker_cpus, flags.worker_memory);
  std::string volumes =
      flags.cert_manager ? CertManagerVolume(config, "worker", number) : "";
  if (!flags.data_claim.empty()) {
    absl::StrAppend(&container,
                    "        volumeMounts:\n        - name: data\n"
                    "          mountPath: ",
                    config.data().directory(), "\n          readOnly: true\n");
    absl::StrAppend(&volumes,
                    "      - name: data\n        persistentVolumeClaim:\n"
                    "          claimName: ",
                    flags.data_claim, "\n          readOnly: true\n");
  }
  return Patch("Job", "worker",
               absl::StrCat("  completions: ", number,
                            "\n  parallelism: ", number, "\n"),
               container, volumes);
}

absl::StatusOr<std::string> Kustomization(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const std::string base,
                      PathFrom(flags.output, flags.base));
  std::string text = absl::StrCat(
      kHeader,
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\n"
      "namePrefix: ",
      flags.name,
      "-\n\nlabels:\n- pairs:\n    app.kubernetes.io/instance: ", flags.name,
      "\n", kLabelFields, "\nresources:\n- ", base, "\n- ",
      flags.cert_manager ? "certificates.yaml" : "certificates/secrets.yaml",
      "\n");
  if (!flags.components.empty()) absl::StrAppend(&text, "\ncomponents:\n");
  for (const std::string& component : flags.components) {
    PS_ASSIGN_OR_RETURN(const std::string path,
                        PathFrom(flags.output, component));
    absl::StrAppend(&text, "- ", path, "\n");
  }
  return absl::StrCat(
      text,
      "\nconfigMapGenerator:\n- name: gradsieve-job\n  behavior: replace\n"
      "  files:\n  - job.textproto\n  options:\n    disableNameSuffixHash: "
      "true\n"
      "    immutable: true\n\npatches:\n- path: server.yaml\n- path: "
      "worker.yaml\n");
}

absl::Status WriteCertificates(const Flags& flags, const JobConfig& config) {
  if (flags.cert_manager) {
    return WriteFileAtomically(flags.output + "/certificates.yaml",
                               CertManagerObjects(config));
  }
  const std::string folder = flags.output + "/certificates";
  const absl::Time now = absl::Now();
  PS_RETURN_IF_ERROR(
      WriteJobCertificates(config, folder, {now - kSkew, now + kValid})
          .status());
  return WriteKubernetesSecrets(config, folder);
}

absl::Status Run(const Flags& flags) {
  PS_RETURN_IF_ERROR(CheckFlags(flags));
  PS_ASSIGN_OR_RETURN(JobConfig config, LoadJob(flags.job, flags.overrides));
  FitToBase(flags, &config);
  PS_RETURN_IF_ERROR(ValidateConfig(config));
  const std::string& data = config.data().directory();
  if (data.empty() != flags.data_claim.empty() ||
      (!data.empty() && !fs::path(data).is_absolute())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.directory is \"", data, "\" and --data-claim is \"",
        flags.data_claim,
        "\"; where pods read data, give both: an absolute folder, and the "
        "PersistentVolumeClaim that is mounted there"));
  }
  PS_ASSIGN_OR_RETURN(const std::string kustomization, Kustomization(flags));
  std::error_code failed;
  fs::create_directories(flags.output, failed);
  if (failed) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", flags.output, ": ", failed.message()));
  }
  PS_RETURN_IF_ERROR(WriteCertificates(flags, config));
  for (const auto& [file, text] :
       {std::pair("job.textproto", ResolvedConfigText(config)),
        std::pair("server.yaml", ServerPatch(flags, config)),
        std::pair("worker.yaml", WorkerPatch(flags, config)),
        std::pair("kustomization.yaml", kustomization)}) {
    PS_RETURN_IF_ERROR(
        WriteFileAtomically(absl::StrCat(flags.output, "/", file), text));
  }
  std::printf("%s: run \"%s\" with %s and %s.\nkubectl apply -k %s\n%s",
              flags.output.c_str(), flags.name.c_str(),
              Counted(config.cluster().num_servers(), "server").c_str(),
              Counted(config.cluster().num_workers(), "worker").c_str(),
              flags.output.c_str(),
              flags.cert_manager ? ""
                                 : "Its certificates folder has keys: whoever "
                                   "can read it can join the "
                                   "run. Keep it out of the repository.\n");
  return absl::OkStatus();
}

}  // namespace

int RunManifestsCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  command_line.AddRequiredOption(
      "name", "NAME", "The run: at most 32 small letters, digits and hyphens.",
      &flags.name);
  command_line.AddRequiredOption(
      "output", "DIR", "The folder for the manifests.", &flags.output);
  command_line.AddOption("workers", "N",
                         "Workers; 0: the job's cluster.num_workers.",
                         &flags.workers);
  command_line.AddOption("servers", "N",
                         "Servers; 0: the job's cluster.num_servers.",
                         &flags.servers);
  command_line.AddOption(
      "base", "PATH", "The folder or address of what it changes.", &flags.base);
  command_line.AddOption(
      "component", "PATH",
      "Also a component, as in deploy/k8s/components/gpu. Repeatable.",
      &flags.components);
  command_line.AddSwitch(
      "cert-manager",
      "Let cert-manager make certificates; otherwise they are "
      "made now, for a year.",
      &flags.cert_manager);
  command_line.AddOption("data-claim", "NAME",
                         "The PersistentVolumeClaim with the data, for workers "
                         "to read at data.directory.",
                         &flags.data_claim);
  command_line.AddOption("worker-cpus", "N",
                         "Cores that each worker asks for, and threads that it "
                         "uses; 0: the base's.",
                         &flags.worker_cpus);
  command_line.AddOption(
      "worker-memory", "SIZE",
      "Memory of each worker, as in 4Gi; default: the base's.",
      &flags.worker_memory);
  command_line.AddOption(
      "server-memory", "SIZE",
      "Memory of each server; `gradsieve plan-memory` says what "
      "it needs.",
      &flags.server_memory);
  AddOverrides(&command_line, &flags.overrides, "training.epochs=90");
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::Status usage = CheckFlags(flags);
  if (!usage.ok()) return FailCommand("manifests", usage, kExitUsage);
  const absl::Status status = Run(flags);
  if (status.ok()) return kExitDone;
  return FailCommand("manifests", status, ExitCodeFor(status));
}

}  // namespace ps
