// Predictions for all settings of a job, and what they advise.
#ifndef TOOLS_ADVISE_ADVICE_H_
#define TOOLS_ADVISE_ADVICE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/json.h"
#include "tools/advise/prediction.h"

namespace ps {

struct Advice {
  std::string job;
  JobNetwork network;
  int num_workers = 0;
  int num_servers = 0;
  int64_t num_parameters = 0;
  // The model is in a script, which could use an all-reduce instead.
  bool is_external = false;
  int workers_here = 0;  // Workers with which computation was measured.
  // The others are compared with the first; not empty.
  std::vector<SettingPrediction> settings;
};

// How many times faster setting `i` is than the first.
double SpeedUp(const Advice& advice, size_t i);

// The advice in words, with the lines to put into the job if a setting other
// than the first is recommended.
std::string AdviceText(const Advice& advice);

// The least seconds of a ring's all-reduce of all parameters in fp32 among the
// workers: 2 (n - 1) / n of them over each link (Patarasuk and Yuan, Bandwidth
// optimal all-reduce algorithms, 2009). Needs a network's bandwidth.
double AllReduceSeconds(const Advice& advice);

// What was predicted, as a table with a heading and a legend, and AdviceText().
std::string AdviceReport(const Advice& advice);

// The figures of one setting.
Json PredictionJson(const SettingPrediction& setting);

// One JSON object.
std::string AdviceJson(const Advice& advice);

}  // namespace ps

#endif  // TOOLS_ADVISE_ADVICE_H_
