#include "tools/model/layer_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "google/protobuf/text_format.h"
#include "models/described/described_layers.h"
#include "nlohmann/json.hpp"
#include "proto/model_config.pb.h"
#include "tools/command_line/human_format.h"
#include "tools/report/text_table.h"

namespace ps {
namespace {

using ::google::protobuf::TextFormat;

struct Row {
  std::string name;
  std::string layer;  // "max_pooling { kernel_size: 2 }"
  int depth = 0;
  LayerShape output;
  int64_t parameters = 0;
};

// What a job says of the layer, without its name and initial values.
std::string KindText(const LayerConfig& config) {
  if (config.has_residual()) return "residual";
  LayerConfig bare = config;
  bare.clear_name();
  if (bare.has_convolution()) {
    bare.mutable_convolution()->clear_initial_weight();
    bare.mutable_convolution()->clear_initial_bias();
  } else if (bare.has_linear()) {
    bare.mutable_linear()->clear_initial_weight();
    bare.mutable_linear()->clear_initial_bias();
  } else if (bare.has_embedding()) {
    bare.mutable_embedding()->clear_initial_weight();
  } else if (bare.has_lstm()) {
    bare.mutable_lstm()->clear_initial_weight();
  } else if (bare.has_gru()) {
    bare.mutable_gru()->clear_initial_weight();
  }
  TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(bare, &text);
  absl::string_view stripped = absl::StripAsciiWhitespace(text);
  absl::ConsumeSuffix(&stripped, " { }");
  return std::string(stripped);
}

absl::StatusOr<std::vector<Row>> Rows(const Model& model,
                                      const LayersConfig& config,
                                      const ExampleShape& example) {
  ConfigProblems problems;
  const DescribedLayers described =
      MakeDescribedLayers(config, &example, &problems);
  if (!problems.lines().empty()) {
    return absl::InternalError(absl::StrJoin(problems.lines(), "\n"));
  }
  std::vector<Row> rows;
  for (const DescribedLayer& layer : described.description) {
    Row row;
    row.name = layer.name;
    row.layer = KindText(*layer.config);
    row.depth = layer.depth;
    row.output = layer.output;
    for (const ParameterInfo& parameter : model.parameters()) {
      if (absl::StartsWith(parameter.name, absl::StrCat(layer.name, "."))) {
        row.parameters += NumElements(parameter.shape);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int64_t NumStatistics(const Model& model) {
  int64_t n = 0;
  for (const ParameterInfo& statistic : model.statistics()) {
    n += NumElements(statistic.shape);
  }
  return n;
}

}  // namespace

absl::StatusOr<std::string> LayerTable(const Model& model,
                                       const ExampleShape& example) {
  const LayersConfig config = model.Describe();
  PS_ASSIGN_OR_RETURN(const std::vector<Row> rows,
                      Rows(model, config, example));
  const auto name = [](const Row& row) {
    return std::string(2 * row.depth, ' ') + row.name;
  };
  size_t width = sizeof("name") - 1;
  for (const Row& row : rows) width = std::max(width, name(row).size());
  // Names and layers share the column that is aligned to the left.
  const auto first = [width](const std::string& name,
                             const std::string& layer) {
    return absl::StrCat(name, std::string(width - name.size() + 2, ' '), layer);
  };
  TextTable table = {{first("name", "layer"), "output", "parameters"}};
  table.push_back({first("", "input"), ToString(InputShape(example)), ""});
  for (const Row& row : rows) {
    table.push_back({first(name(row), row.layer), ToString(row.output),
                     row.parameters == 0 ? "" : FormatCount(row.parameters)});
  }
  std::string text = FormatTextTable(table);
  absl::StrAppend(&text, "\n", FormatCount(model.num_parameters()),
                  " parameters");
  if (const int64_t statistics = NumStatistics(model)) {
    absl::StrAppend(&text, ", and ", FormatCount(statistics),
                    " running means and variances");
  }
  return text + "\n";
}

absl::StatusOr<std::string> LayerJson(const Model& model,
                                      const ExampleShape& example) {
  const LayersConfig config = model.Describe();
  PS_ASSIGN_OR_RETURN(const std::vector<Row> rows,
                      Rows(model, config, example));
  nlohmann::ordered_json json;
  json["input"] = ToString(InputShape(example));
  json["layers"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    json["layers"].push_back({{"name", row.name},
                              {"layer", row.layer},
                              {"depth", row.depth},
                              {"output", ToString(row.output)},
                              {"parameters", row.parameters}});
  }
  json["parameters"] = model.num_parameters();
  json["statistics"] = NumStatistics(model);
  return json.dump(2) + "\n";
}

std::string LayersText(const Model& model) {
  ModelConfig config;
  config.set_name("layers");
  *config.mutable_layers() = model.Describe();
  std::string text;
  TextFormat::PrintToString(config, &text);
  return absl::StrCat("model {\n", text, "}\n");
}

}  // namespace ps
