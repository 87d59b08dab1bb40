#include "tools/report/tail_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/fits/threshold_formulas.h"
#include "formats/npy.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

// Points of a curve for each factor of ten in the share.
constexpr int kPointsPerDecade = 40;

struct FittedLaw {
  const char* label;
  TailLaw law;
};

TailSample SampleOf(const std::vector<float>& magnitudes) {
  const double n = static_cast<double>(magnitudes.size());
  TailSample sample;
  for (const float x : magnitudes) {
    sample.mean += x / n;
    sample.mean_log += std::log(double{x}) / n;
  }
  for (const float x : magnitudes) {
    sample.variance += (x - sample.mean) * (x - sample.mean) / n;
  }
  return sample;
}

Json Line(const char* label) {
  return {{"label", label}, {"x", Json::array()}, {"y", Json::array()}};
}

}  // namespace

Json TailPlot(const std::string& title, const std::vector<float>& gradient) {
  Json plot = {
      {"title", title},
      {"x", {{"label", "magnitude of an element"}, {"unit", "number"}}},
      {"y",
       {{"label", "share of elements above it"},
        {"unit", "number"},
        {"scale", "log"}}},
      {"lines", Json::array()},
      {"note",
       "The laws are fitted to the dumped gradient alone; SIDCo fits residual "
       "+ gradient."}};
  std::vector<float> magnitudes;
  for (const float x : gradient) {
    if (x != 0 && std::isfinite(x)) magnitudes.push_back(std::fabs(x));
  }
  std::sort(magnitudes.begin(), magnitudes.end(), std::greater<float>());
  if (magnitudes.empty() || magnitudes.front() == magnitudes.back()) {
    return plot;
  }
  const double n = static_cast<double>(magnitudes.size());

  Json measured = Line("measured");
  std::vector<double> shares;
  for (int i = 0;; ++i) {
    const double share =
        std::pow(10.0, -static_cast<double>(i) / kPointsPerDecade);
    if (share * n < 1) break;
    shares.push_back(share);
    const size_t rank = static_cast<size_t>(share * n) - 1;
    // rank + 1 elements are this large or larger.
    measured["x"].push_back(magnitudes[rank]);
    measured["y"].push_back(static_cast<double>(rank + 1) / n);
  }
  plot["lines"].push_back(std::move(measured));

  // Just beyond the measured curve; a distribution may reach much farther.
  const double farthest = 1.3 * magnitudes.front();
  const TailSample sample = SampleOf(magnitudes);
  const FittedLaw laws[] = {
      {"exponential law (SIDCo-E)", TailLaw::kExponential},
      {"gamma law (SIDCo-GP)", TailLaw::kGammaPareto},
      {"generalized Pareto law (SIDCo-P)", TailLaw::kPareto}};
  for (const FittedLaw& fitted : laws) {
    Json curve = Line(fitted.label);
    for (const double share : shares) {
      double x = 0;
      if (!TailFits{fitted.law}.Magnitudes(sample, share, &x) || x > farthest) {
        break;
      }
      curve["x"].push_back(x);
      curve["y"].push_back(share);
    }
    plot["lines"].push_back(std::move(curve));
  }
  return plot;
}

absl::StatusOr<std::vector<float>> ReadLastGradient(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const NpyReader<float> reader,
                      NpyReader<float>::Open(path));
  std::vector<float> gradient;
  if (reader.rows() == 0) return gradient;
  gradient.resize(reader.row_elements());
  PS_RETURN_IF_ERROR(reader.Read((reader.rows() - 1) * reader.row_elements(),
                                 absl::MakeSpan(gradient)));
  return gradient;
}

}  // namespace ps
