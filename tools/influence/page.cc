#include "tools/influence/page.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/counted.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/influence/picture.h"
#include "tools/report/html_page.h"

namespace ps {
namespace {

constexpr char kStyle[] = R"css(
h2 { margin: 34px 0 10px; }
h3 { font-size: 15px; margin: 18px 0 8px; }
.examples { display: grid; gap: 12px; margin: 0; padding: 0; list-style: none;
  grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); }
.examples li { background: var(--panel); border-radius: 8px; padding: 10px;
  overflow-wrap: anywhere; }
.examples img { display: block; width: 100%; max-width: 112px; height: auto;
  margin-bottom: 6px; image-rendering: pixelated; }
.examples small { display: block; color: var(--faint); font-size: 13px; }
.examples .wrong { color: var(--c1); }
)css";

// Pictures of all examples that the page shows, in one scale of brightness.
class Pictures {
 public:
  static absl::StatusOr<Pictures> Make(const InfluenceResult& result,
                                       const DatasetPair& data,
                                       const std::vector<int64_t>& shown) {
    PS_ASSIGN_OR_RETURN(Batch all,
                        ReadQueries(result.plan.queries, data,
                                    result.plan.config.data().name()));
    Pictures pictures;
    Batch batch;
    for (const int64_t number : shown) {
      if (!pictures.places_.emplace(number, all.size()).second) continue;
      PS_RETURN_IF_ERROR(data.train->Read({number}, /*epoch=*/0, &batch));
      all.inputs.insert(all.inputs.end(), batch.inputs.begin(),
                        batch.inputs.end());
      all.labels.push_back(batch.labels[0]);
    }
    PS_ASSIGN_OR_RETURN(pictures.files_,
                        MakePictures(all, data.train->example_shape()));
    return pictures;
  }

  std::string OfQuery(size_t query) const { return Image(query); }
  std::string OfExample(int64_t number) const {
    return Image(places_.at(number));
  }

 private:
  std::string Image(size_t place) const {
    return absl::StrCat("<img alt='' src='data:image/png;base64,",
                        absl::Base64Escape(files_[place]), "'>");
  }

  std::map<int64_t, int64_t> places_;  // Of training examples in files_.
  std::vector<std::string> files_;     // Queries, then examples.
};

// "label coat" and, if it differs, what the model takes it for.
std::string Classes(const InfluenceResult& result, int32_t label,
                    int32_t predicted) {
  std::string text =
      absl::StrCat("<b>", EscapeMarkup(result.class_names[label]), "</b>");
  if (label != predicted) {
    absl::StrAppend(&text, "<small class='wrong'>taken for ",
                    EscapeMarkup(result.class_names[predicted]), "</small>");
  }
  return text;
}

std::string ExampleList(const InfluenceResult& result, const Pictures& pictures,
                        const std::vector<int64_t>& numbers,
                        const std::vector<double>& score) {
  if (numbers.empty()) return "<p class='note'>none</p>\n";
  std::string list = "<ul class='examples'>\n";
  for (const int64_t number : numbers) {
    absl::StrAppend(
        &list, "<li>", pictures.OfExample(number),
        Classes(result, result.sums.labels()[number],
                result.sums.predicted()[number]),
        absl::StrFormat("<small>influence %.4g</small><small>example ",
                        score[number]),
        EscapeMarkup(result.example_names[number]), "</small>",
        !result.mislabelled.empty() && result.mislabelled[number]
            ? "<small class='wrong'>known to be mislabelled</small>"
            : "",
        "</li>\n");
  }
  return list + "</ul>\n";
}

std::string QuerySection(const InfluenceResult& result,
                         const Pictures& pictures, size_t q) {
  const QueryResult& query = result.queries[q];
  return absl::StrCat(
      "<h2>",
      query.query.file.empty()
          ? (query.query.of_training_set ? "Training example "
                                         : "Test example ")
          : "",
      EscapeMarkup(query.name), "</h2>\n<ul class='examples'><li>",
      pictures.OfQuery(q), Classes(result, query.label, query.predicted),
      "<small>", absl::StrFormat("loss %.4f", query.loss),
      "</small></li></ul>\n<h3>Proponents lowered this loss</h3>\n",
      ExampleList(result, pictures, query.proponents, query.influence),
      "<h3>Opponents raised it</h3>\n",
      ExampleList(result, pictures, query.opponents, query.influence));
}

// The share found over the share inspected.
Json CurvePlot(const InfluenceResult& result) {
  Json lines = Json::array();
  const auto n = static_cast<double>(result.mislabelled.size());
  const auto total = static_cast<double>(
      std::count(result.mislabelled.begin(), result.mislabelled.end(), true));
  for (const NamedRanking& each : result.rankings) {
    std::vector<double> x = {0};
    std::vector<double> y = {0};
    double found = 0;
    for (size_t i = 0; i < each.ranking.size(); ++i) {
      if (!result.mislabelled[each.ranking[i]]) continue;
      // A step: its foot and its top.
      x.push_back(static_cast<double>(i) / n);
      y.push_back(found / total);
      found += 1;
      x.push_back(static_cast<double>(i + 1) / n);
      y.push_back(found / total);
    }
    x.push_back(1);
    y.push_back(1);
    lines.push_back({{"label", each.meaning}, {"x", x}, {"y", y}});
  }
  return {{"title", "Mislabelled examples found"},
          {"x", {{"label", "inspected"}, {"unit", "share"}}},
          {"y", {{"label", "found"}, {"unit", "share"}}},
          {"lines", lines}};
}

std::vector<int64_t> FirstOfSelf(const InfluenceResult& result) {
  if (!result.shows_self) return {};
  std::vector<int64_t> first = result.rankings[0].ranking;
  first.resize(std::min(result.top, static_cast<int64_t>(first.size())));
  return first;
}

std::string Subtitle(const InfluencePlan& plan) {
  return absl::StrCat(
      "<p class='note'>", EscapeMarkup(plan.config.model().name()), ", ",
      EscapeMarkup(LayersInWords(plan)), ", ",
      Counted(plan.num_examples, "training example"), " of ",
      EscapeMarkup(plan.config.data().name()), "; snapshots after ",
      absl::StrJoin(plan.checkpoints, ", ",
                    [](std::string* out, const InfluenceCheckpoint& c) {
                      absl::StrAppend(out, c.push);
                    }),
      " pushes. Predictions are those of the last of them.</p>\n");
}

}  // namespace

absl::StatusOr<std::string> InfluencePage(const InfluenceResult& result,
                                          const DatasetPair& data) {
  const std::vector<int64_t> first = FirstOfSelf(result);
  std::vector<int64_t> shown = first;
  for (const QueryResult& query : result.queries) {
    for (const auto* list : {&query.proponents, &query.opponents}) {
      shown.insert(shown.end(), list->begin(), list->end());
    }
  }
  PS_ASSIGN_OR_RETURN(const Pictures pictures,
                      Pictures::Make(result, data, shown));
  std::string body;
  for (size_t q = 0; q < result.queries.size(); ++q) {
    body += QuerySection(result, pictures, q);
  }
  if (!first.empty()) {
    absl::StrAppend(&body, "<h2>Highest self-influence</h2>\n",
                    ExampleList(result, pictures, first, result.sums.self()));
  }
  HtmlPage page;
  page.heading = result.plan.config.name();
  page.command = "influence";
  page.style = kStyle;
  page.body = Subtitle(result.plan) + body;
  if (!result.mislabelled.empty()) {
    page.data = JsonText({{"heading", "Known mislabelled examples"},
                          {"plots", Json::array({CurvePlot(result)})}},
                         /*indent=*/-1);
  }
  return HtmlText(page);
}

}  // namespace ps
