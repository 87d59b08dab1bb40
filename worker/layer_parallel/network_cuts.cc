#include "worker/layer_parallel/network_cuts.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "models/described/described_layers.h"
#include "models/described/weight_uses.h"

namespace ps {
namespace {

// A layer of the network, or a whole residual block.
struct CutLayer {
  std::unique_ptr<Layer> layer;
  std::string name;
  bool is_block = false;
  int64_t multiplications = 0;
};

absl::StatusOr<std::vector<CutLayer>> LayersOf(const Model& model,
                                               const ExampleShape& example) {
  const LayersConfig config = model.Describe();
  ConfigProblems problems;
  DescribedLayers described = MakeDescribedLayers(config, &example, &problems);
  if (!problems.lines().empty()) {
    return absl::InternalError(absl::StrJoin(problems.lines(), "\n"));
  }
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> uses,
                      WeightUses(model, example));
  std::vector<CutLayer> layers;
  size_t parameter = 0;
  for (std::unique_ptr<Layer>& layer : described.layers) {
    CutLayer cut;
    LayerConfigs own;
    layer->Describe(&own);
    cut.name = own.empty() ? "" : own[0].name();
    cut.is_block = !own.empty() && own[0].has_residual();
    for (const LayerParameter& weights : layer->parameters()) {
      cut.multiplications += NumElements(weights.shape) * uses[parameter++];
    }
    cut.layer = std::move(layer);
    layers.push_back(std::move(cut));
  }
  return layers;
}

// Returns the layers before which the network can be cut.
std::vector<size_t> Places(const std::vector<CutLayer>& layers) {
  std::vector<size_t> places;
  for (size_t i = 1; i < layers.size(); ++i) {
    if (layers[i].is_block) places.push_back(i);
  }
  return places;
}

absl::StatusOr<std::vector<size_t>> NamedCuts(
    const std::vector<CutLayer>& layers, const LayerParallelConfig& config) {
  std::vector<size_t> cuts;
  for (const std::string& name : config.cut_before()) {
    const auto found =
        std::find_if(layers.begin(), layers.end(),
                     [&](const CutLayer& layer) { return layer.name == name; });
    const size_t i = found - layers.begin();
    if (found == layers.end() || i == 0 || !found->is_block ||
        (!cuts.empty() && i <= cuts.back())) {
      std::vector<std::string> possible;
      for (const size_t place : Places(layers)) {
        possible.push_back(layers[place].name);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("training.layer_parallel.cut_before has \"", name,
                       "\"; must list, in this order, some of ",
                       absl::StrJoin(possible, ", ")));
    }
    cuts.push_back(i);
  }
  return cuts;
}

// Returns the cuts that minimise the largest stage; the first of several.
std::vector<size_t> EqualCuts(const std::vector<CutLayer>& layers,
                              size_t stages) {
  const std::vector<size_t> places = Places(layers);
  std::vector<int64_t> before = {0};  // Multiplications before layers.
  for (const CutLayer& layer : layers) {
    before.push_back(before.back() + layer.multiplications);
  }
  // best[s][i] is the largest of s + 1 stages that end at place i, and the
  // place of the cut before it. Place places.size() is the end of the network.
  struct Best {
    int64_t largest = std::numeric_limits<int64_t>::max();
    size_t previous = 0;
  };
  const auto position = [&](size_t i) {
    return before[i == places.size() ? layers.size() : places[i]];
  };
  std::vector<std::vector<Best>> best(stages,
                                      std::vector<Best>(places.size() + 1));
  for (size_t i = 0; i <= places.size(); ++i) {
    best[0][i].largest = position(i);
  }
  for (size_t s = 1; s < stages; ++s) {
    for (size_t i = s; i <= places.size(); ++i) {
      for (size_t cut = s - 1; cut < i; ++cut) {
        const int64_t largest =
            std::max(best[s - 1][cut].largest, position(i) - position(cut));
        if (largest < best[s][i].largest) best[s][i] = {largest, cut};
      }
    }
  }
  std::vector<size_t> cuts;
  size_t i = places.size();
  for (size_t s = stages - 1; s > 0; --s) {
    i = best[s][i].previous;
    cuts.push_back(places[i]);
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

absl::StatusOr<std::vector<size_t>> ChooseCuts(
    const std::vector<CutLayer>& layers, const LayerParallelConfig& config) {
  if (!config.cut_before().empty()) return NamedCuts(layers, config);
  const size_t stages = config.stages();
  if (const size_t blocks = Places(layers).size(); blocks + 1 < stages) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.layer_parallel.stages is ", stages,
                     "; the network can be cut before ", blocks,
                     " residual blocks, into at most ", blocks + 1, " stages"));
  }
  return EqualCuts(layers, stages);
}

}  // namespace

absl::StatusOr<std::vector<Stage>> CutNetwork(
    const Model& model, const ExampleShape& example,
    const LayerParallelConfig& config) {
  if (example.task != Task::kImages) {
    return absl::InvalidArgumentError(
        "training.layer_parallel is set; the data set must have images, since "
        "the method is for residual networks without recurrent layers");
  }
  PS_ASSIGN_OR_RETURN(std::vector<CutLayer> layers, LayersOf(model, example));
  PS_ASSIGN_OR_RETURN(std::vector<size_t> cuts, ChooseCuts(layers, config));
  cuts.push_back(layers.size());
  std::vector<Stage> stages;
  size_t first = 0;
  for (const size_t last : cuts) {
    Stage stage;
    if (first > 0) {
      stage.name = layers[first].name;
      stage.begin = stages.back().end;
      stage.statistics_begin = stages.back().statistics_end;
    }
    std::vector<std::unique_ptr<Layer>> own;
    stage.end = stage.begin;
    stage.statistics_end = stage.statistics_begin;
    for (; first < last; ++first) {
      stage.multiplications += layers[first].multiplications;
      for (const LayerParameter& weights : layers[first].layer->parameters()) {
        stage.end += NumElements(weights.shape);
      }
      for (const LayerStatistic& values : layers[first].layer->statistics()) {
        stage.statistics_end += NumElements(values.shape);
      }
      own.push_back(std::move(layers[first].layer));
    }
    stage.layers = PlaceLayers(std::move(own));
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace ps
