#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/exit_codes.h"
#include "common/external_model.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/status_macros.h"
#include "proto/config.pb.h"
#include "security/job_certificates.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/options.h"
#include "tools/commands/server_bounds.h"

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

// Lower-case letters, digits and hyphens, as labels of RFC 1123 have.
bool IsOfLabels(absl::string_view name) {
  return absl::c_all_of(name, [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  });
}

// A label of RFC 1035, since names of Services begin with it.
absl::Status CheckName(const std::string& name) {
  if (!name.empty() && name.size() <= kLongestName && IsOfLabels(name) &&
      absl::ascii_isalpha(name.front()) && name.back() != '-') {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--name is \"", name, "\"; must be at most ", kLongestName,
      " lower-case letters, digits and hyphens, begin with a letter and not "
      "end with a hyphen, as names of Kubernetes do"));
}

// A subdomain of RFC 1123, as the names of most objects are.
absl::Status CheckClaim(const std::string& claim) {
  const std::vector<std::string> labels = absl::StrSplit(claim, '.');
  const bool valid =
      claim.size() <= 253 && absl::c_all_of(labels, [](const auto& label) {
        return !label.empty() && IsOfLabels(label) && label.front() != '-' &&
               label.back() != '-';
      });
  if (claim.empty() || valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--data-claim is \"", claim,
      "\"; must be the name of a PersistentVolumeClaim: lower-case letters, "
      "digits, hyphens and dots"));
}

// "4Gi", "1.5Gi", "500M": what Kubernetes calls a quantity.
absl::Status CheckQuantity(const std::string& option, const std::string& text) {
  static const std::regex& quantity =
      *new std::regex("([0-9]+([.][0-9]+)?([KMGT]i|[kMGT])?)?");
  if (std::regex_match(text, quantity)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, " is \"", text,
                   "\"; must be a number and a unit of Kubernetes, as in 4Gi"));
}

bool IsAddress(const std::string& path) {
  return absl::StrContains(path, "://");
}

// A folder or an address that a kustomization can name.
absl::Status CheckResource(const std::string& option, const std::string& path) {
  std::error_code failed;
  if (IsAddress(path) ||
      fs::exists(fs::path(path) / "kustomization.yaml", failed)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--", option, ": ", path,
      " has no kustomization.yaml; it must be a folder of deploy/k8s, which "
      "comes with every clone and bundle"));
}

absl::Status CheckFlags(const Flags& flags) {
  PS_RETURN_IF_ERROR(CheckName(flags.name));
  PS_RETURN_IF_ERROR(CheckClaim(flags.data_claim));
  for (const auto& [option, number] :
       {std::pair("workers", flags.workers),
        std::pair("servers", flags.servers),
        std::pair("worker-cpus", flags.worker_cpus)}) {
    if (number == 0) continue;
    PS_RETURN_IF_ERROR(
        CheckOptionRanges({{option, number, 1, kMostProcesses}}));
  }
  PS_RETURN_IF_ERROR(CheckQuantity("worker-memory", flags.worker_memory));
  PS_RETURN_IF_ERROR(CheckQuantity("server-memory", flags.server_memory));
  PS_RETURN_IF_ERROR(CheckResource("base", flags.base));
  for (const std::string& component : flags.components) {
    PS_RETURN_IF_ERROR(CheckResource("component", component));
  }
  return absl::OkStatus();
}

// A string of YAML, which may look like something else or have a colon.
std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

// The path by which a kustomization in `output` names what lies at `path`.
absl::StatusOr<std::string> PathFrom(const std::string& output,
                                     const std::string& path) {
  if (IsAddress(path)) return path;
  std::error_code failed;
  fs::path relative;
  const fs::path to = fs::canonical(path, failed);
  // A relative path of which nothing exists would stay relative.
  fs::path from;
  if (!failed) from = fs::absolute(output, failed);
  if (!failed) from = fs::weakly_canonical(from, failed);
  if (!failed) relative = fs::relative(to, from, failed);
  if (!failed && !relative.empty()) return relative.string();
  return absl::ErrnoToStatus(
      failed.value(), absl::StrCat("no way from ", output, " to ", path));
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
    absl::StrAppend(&text, "            memory: ", Quoted(memory),
                    "\n          limits:\n            memory: ", Quoted(memory),
                    "\n");
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
                    Quoted(config.data().directory()),
                    "\n          readOnly: true\n");
    absl::StrAppend(&volumes,
                    "      - name: data\n        persistentVolumeClaim:\n"
                    "          claimName: ",
                    Quoted(flags.data_claim), "\n          readOnly: true\n");
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
      flags.name, "-\n\nlabels:\n- pairs:\n    app.kubernetes.io/instance: ",
      Quoted(flags.name), "\n", kLabelFields, "\nresources:\n- ", Quoted(base),
      "\n- ",
      flags.cert_manager ? "certificates.yaml" : "certificates/secrets.yaml",
      "\n");
  if (!flags.components.empty()) absl::StrAppend(&text, "\ncomponents:\n");
  for (const std::string& component : flags.components) {
    PS_ASSIGN_OR_RETURN(const std::string path,
                        PathFrom(flags.output, component));
    absl::StrAppend(&text, "- ", Quoted(path), "\n");
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

// Gives servers the memory that this job can need, where the data can be read
// here; the base's is for a small job.
void SetServerMemory(const JobConfig& config, Flags* flags) {
  if (!flags->server_memory.empty()) return;
  const absl::StatusOr<std::vector<MemoryBound>> bounds = ServerBounds(config);
  if (!bounds.ok()) {
    std::printf(
        "note: servers get the base's memory, which may be too little: "
        "what they need depends on the data (%s). gradsieve "
        "plan-memory, where they are, says it; then give "
        "--server-memory.\n",
        std::string(bounds.status().message()).c_str());
    return;
  }
  int64_t bytes = 0;
  for (const MemoryBound& bound : *bounds) {
    bytes = std::max(bytes, bound.total());
  }
  // A server that is started again reads its log.
  const int64_t megabytes =
      (bytes >> 20) + 1 +
      (KeepsSnapshots(config) ? config.checkpoint().log_megabytes() : 0);
  constexpr int64_t kStep = 64;
  flags->server_memory =
      absl::StrCat((megabytes + kStep - 1) / kStep * kStep, "Mi");
}

absl::Status Run(Flags flags) {
  PS_ASSIGN_OR_RETURN(JobConfig config, LoadJob(flags.job, flags.overrides));
  PS_RETURN_IF_ERROR(CheckModelIsHere(config.model()));
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
  const std::string& weights = config.model().initial_weights();
  if (!weights.empty() && (data.empty() || weights.rfind(data + "/", 0) != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.initial_weights is \"", weights,
        "\"; pods read files below data.directory only: put it there, and say "
        "where, as in --set model.initial_weights=",
        data.empty() ? "/data" : data, "/",
        fs::path(weights).filename().string()));
  }
  PS_ASSIGN_OR_RETURN(const std::string kustomization, Kustomization(flags));
  SetServerMemory(config, &flags);
  std::error_code failed;
  fs::create_directories(flags.output, failed);
  if (failed) {
    return absl::ErrnoToStatus(failed.value(),
                               absl::StrCat("cannot make ", flags.output));
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
      "name", "NAME",
      "The run: at most 32 lower-case letters, digits and hyphens.",
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
  command_line.AddOption("component", "PATH",
                         "Also a component, as in deploy/k8s/components/gpu.",
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
      "Memory of each server; default: what `gradsieve plan-memory` says, if "
      "the job's data can be read here, and the log.",
      &flags.server_memory);
  AddOverrides(&command_line, &flags.overrides, "training.epochs=90");
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::Status usage = CheckFlags(flags);
  if (!usage.ok()) return FailCommand("manifests", usage, kExitUsage);
  return EndCommand("manifests", Run(flags));
}

}  // namespace ps
