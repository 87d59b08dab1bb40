#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/json.h"
#include "compressors/compressor.h"
#include "compressors/value_codes/value_codec.h"
#include "data/dataset.h"
#include "models/model.h"
#include "nlohmann/json.hpp"
#include "optimizers/optimizer.h"
#include "tools/command_line/commands.h"

namespace ps {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

struct Kind {
  const char* name;   // Of the command.
  const char* field;  // Of a job, which takes one of the names.
  Names (*list)();
};

constexpr Kind kModels = {"models", "model.name",
                          [] { return ModelRegistry().List(); }};
constexpr Kind kData = {"data", "data.name",
                        [] { return DatasetRegistry().List(); }};
constexpr Kind kCompressors = {"compressors", "compressor.name",
                               [] { return CompressorRegistry().List(); }};
constexpr Kind kOptimizers = {"optimizers",
                              "optimizer.name and worker_optimizer.name",
                              [] { return OptimizerRegistry().List(); }};
constexpr Kind kValues = {"values", "compressor.value_code",
                          [] { return ValueCodecs().List(); }};

void PrintText(const Names& names) {
  size_t columns = 0;
  for (const auto& entry : names) {
    columns = std::max(columns, entry.first.size());
  }
  for (const auto& [name, meaning] : names) {
    std::printf("%-*s  %s\n", static_cast<int>(columns), name.c_str(),
                meaning.c_str());
  }
}

void PrintJson(const Names& names) {
  Json list = Json::array();
  for (const auto& [name, meaning] : names) {
    list.push_back({{"name", name}, {"meaning", meaning}});
  }
  std::printf("%s\n", JsonText(list).c_str());
}

template <const Kind& kKind>
int RunList(int argc, char** argv) {
  CommandText text;
  text.program = absl::StrCat("gradsieve list ", kKind.name);
  text.description = absl::StrCat("Lists the values of ", kKind.field,
                                  " in a job, with a line on each.");
  text.exit_codes = {{"0", "done"}, {"64", "the command line makes no sense"}};
  bool json = false;
  CommandLine command_line(text);
  command_line.AddSwitch(
      "json", "Print an array of objects with \"name\" and \"meaning\".",
      &json);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  (json ? PrintJson : PrintText)(kKind.list());
  return kExitDone;
}

constexpr Command kKinds[] = {
    {kModels.name, "Networks: model.name.", RunList<kModels>},
    {kData.name, "Data sets: data.name.", RunList<kData>},
    {kCompressors.name, "What workers send of a gradient: compressor.name.",
     RunList<kCompressors>},
    {kOptimizers.name, "Update rules: optimizer.name, worker_optimizer.name.",
     RunList<kOptimizers>},
    {kValues.name, "How values become bytes: compressor.value_code.",
     RunList<kValues>},
};

}  // namespace

int RunListCommand(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve list";
  text.description =
      "Lists the names that a job can use. Their options are in the .proto "
      "files of the folder proto.";
  text.examples = {{"gradsieve list compressors", "all compressors"}};
  return RunCommand(text, kKinds, argc, argv);
}

}  // namespace ps
