#include <cstdio>

#include "absl/time/time.h"
#include "common/flags.h"
#include "common/json.h"
#include "common/program.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/commands.h"
#include "tools/doctor/findings.h"

namespace ps {
namespace {

// Training takes a second or two, and up to a minute on a very busy machine.
constexpr absl::Duration kTrainingTimeout = absl::Minutes(3);

CommandText Text() {
  CommandText text;
  text.program = "gradsieve doctor";
  text.description =
      "Reports what this machine has: kernel, C library, processor, ports, the "
      "NVIDIA driver with its devices, and CUDA's libraries with their "
      "versions and folders. Also reports what is missing and what does not "
      "work because of that. Trains a small network for a moment to check that "
      "training works.";
  text.exit_codes = {
      {"0", "training on the CPU works, whatever else is missing"},
      {"1",
       "training does not work, or with --require-cuda something of CUDA is "
       "missing; the lines marked MISSING say why"},
      {"64", "the command line makes no sense"},
  };
  return text;
}

}  // namespace

int RunDoctorCommand(int argc, char** argv) {
  bool no_training = false;
  bool require_cuda = false;
  bool json = false;
  CommandLine command_line(Text());
  command_line.AddSwitch(
      "no-training", "Only look at the machine; do not train.", &no_training);
  command_line.AddSwitch("require-cuda",
                         "Fail also if a device, a kernel's result or one of "
                         "CUDA's libraries is missing.",
                         &require_cuda);
  command_line.AddSwitch("json",
                         "Print one object: \"works\", and \"findings\" with "
                         "group, subject, text, missing and consequence.",
                         &json);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;

  bool works = true;
  Json findings = Json::array();
  const auto print = [&](const FindingGroup& group, bool all_required) {
    if (!json) std::fputs(FormatFindings(group).c_str(), stdout);
    std::fflush(stdout);
    for (const Finding& finding : group.findings) {
      findings.push_back({{"group", group.title},
                          {"subject", finding.subject},
                          {"text", finding.text},
                          {"missing", finding.missing()},
                          {"consequence", finding.consequence}});
      const bool required = all_required || finding.required;
      if (required && finding.missing()) works = false;
    }
  };
  print(FindMachine(), /*all_required=*/false);
  print(FindCuda(), require_cuda);
  if (!no_training) print(FindTraining(kTrainingTimeout), false);
  if (json) {
    const Json result = {{"works", works}, {"findings", findings}};
    std::printf("%s\n", JsonText(result).c_str());
  }
  return works ? kExitDone : kExitFailed;
}

}  // namespace ps
