#include "tools/influence/checkpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/schedule.h"
#include "common/status_macros.h"
#include "storage/process_snapshots.h"
#include "storage/snapshot.h"
#include "tools/checkpoint/job_snapshots.h"
#include "tools/report/run_records.h"
#include "worker/saved_worker.h"

namespace ps {
namespace {

using Checkpoints = std::vector<InfluenceCheckpoint>;

constexpr char kWeightsFile[] = "weights.safetensors";

constexpr char kHowToKeepMore[] =
    "a job keeps more with checkpoint { every: N keep_last: M }, where N is "
    "the number of pushes between two snapshots and M the number of snapshots";

absl::StatusOr<InfluenceCheckpoint> ReadCheckpoint(
    const CheckpointSource& source, const TrainingPlan& plan,
    const Snapshot& snapshot) {
  Files* const files = Files::Real();
  PS_ASSIGN_OR_RETURN(const std::string progress_bytes,
                      ReadPart(files, snapshot, kProgressPart));
  RunTotalsCounter totals(/*num_workers=*/1, /*num_parameters=*/1);
  PS_ASSIGN_OR_RETURN(const SavedProgress progress,
                      LoadProgress(progress_bytes, &totals));
  if (progress.set.num_examples != source.set.num_examples) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the training set has ", Counted(source.set.num_examples, "example"),
        "; that of ", snapshot.folder, " had ",
        FormatCount(progress.set.num_examples)));
  }
  // The checksum.
  PS_RETURN_IF_ERROR(ReadPart(files, snapshot, kWeightsFile).status());
  InfluenceCheckpoint checkpoint;
  checkpoint.push = progress.point.push;
  checkpoint.learning_rate =
      LearningRateAfter(*source.config, plan, checkpoint.push);
  checkpoint.weights = absl::StrCat(snapshot.folder, "/", kWeightsFile);
  return checkpoint;
}

// The mean training loss of iterations (after, until].
double MeanLoss(const RunRecords& records, int64_t after, int64_t until) {
  double sum = 0;
  int64_t count = 0;
  for (const IterationRow& row : records.iterations) {
    if (row.iteration <= after || row.iteration > until) continue;
    sum += row.training_loss;
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN()
                    : sum / static_cast<double>(count);
}

absl::StatusOr<int64_t> ParseCount(absl::string_view text,
                                   absl::string_view selector) {
  int64_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1) return count;
  return absl::InvalidArgumentError(
      absl::StrCat("--checkpoints is ", selector, "; \"", text,
                   "\" must be a whole number of at least 1"));
}

absl::StatusOr<Checkpoints> Spread(const Checkpoints& kept, int64_t count) {
  if (count >= static_cast<int64_t>(kept.size())) return kept;
  for (const InfluenceCheckpoint& checkpoint : kept) {
    if (std::isfinite(checkpoint.training_loss)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "metrics.jsonl of the run has no training losses before push ",
        checkpoint.push,
        ", by which --checkpoints=spread:N chooses; take --checkpoints=all or "
        "every:N"));
  }
  // The last, which all the others lead to, and the first.
  std::set<size_t> chosen = {kept.size() - 1};
  if (count > 1) chosen.insert(0);
  const double first = kept.front().training_loss;
  const double last = kept.back().training_loss;
  for (int64_t step = 1; step + 1 < count; ++step) {
    const double wanted =
        first + (last - first) * static_cast<double>(step) / (count - 1.0);
    std::optional<size_t> best;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (chosen.count(i) > 0) continue;
      if (!best.has_value() ||
          std::abs(kept[i].training_loss - wanted) <
              std::abs(kept[*best].training_loss - wanted)) {
        best = i;
      }
    }
    chosen.insert(*best);
  }
  Checkpoints result;
  for (const size_t i : chosen) result.push_back(kept[i]);
  return result;
}

absl::StatusOr<Checkpoints> Listed(const Checkpoints& kept,
                                   absl::string_view selector) {
  Checkpoints result;
  for (const absl::string_view word : absl::StrSplit(selector, ',')) {
    int64_t push = 0;
    if (!absl::SimpleAtoi(word, &push)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--checkpoints is ", selector,
          "; must be all, every:N, spread:N, or numbers of pushes with commas "
          "between them"));
    }
    const auto found =
        absl::c_find_if(kept, [push](const InfluenceCheckpoint& checkpoint) {
          return checkpoint.push == push;
        });
    if (found == kept.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the run has kept no snapshot after ", push, " pushes; it has ",
          absl::StrJoin(kept, ", ",
                        [](std::string* out, const InfluenceCheckpoint& c) {
                          absl::StrAppend(out, c.push);
                        }),
          ", and ", kHowToKeepMore));
    }
    result.push_back(*found);
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.push < b.push; });
  const auto same = [](const auto& a, const auto& b) {
    return a.push == b.push;
  };
  if (std::adjacent_find(result.begin(), result.end(), same) != result.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--checkpoints is ", selector, "; names a snapshot twice"));
  }
  return result;
}

// listed: by the numbers of pushes.
absl::Status CheckUseful(const Checkpoints& chosen, bool listed,
                         size_t num_kept) {
  if (chosen.size() < 2 && !listed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "influence is summed over snapshots from the whole training, and ",
        num_kept == 1 ? "the run has kept only" : "--checkpoints leaves only",
        " that after ", Counted(chosen[0].push, "push"),
        num_kept == 1 ? absl::StrCat("; ", kHowToKeepMore) : "",
        ". To use this one alone, say --checkpoints=", chosen[0].push));
  }
  const bool moves =
      absl::c_any_of(chosen, [](const InfluenceCheckpoint& checkpoint) {
        return checkpoint.learning_rate > 0;
      });
  if (moves) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the learning rate is 0 at all chosen snapshots, so that no example has "
      "any influence");
}

}  // namespace

double LearningRateAfter(const JobConfig& config, const TrainingPlan& plan,
                         int64_t push) {
  if (!config.has_worker_optimizer()) {
    return ServersLearningRate(config, plan.pushes.num_pushes(), push);
  }
  return BaseLearningRate(config) *
         LearningRate(config.worker_optimizer(), config.schedule(),
                      plan.total_iterations, plan.pushes.Begin(push));
}

absl::StatusOr<Checkpoints> FindCheckpoints(const CheckpointSource& source) {
  if (WorkersDrift(*source.config)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the workers of this job are at different updates when a snapshot is "
        "saved (consistency.mode ",
        ConsistencyConfig::Mode_Name(source.config->consistency().mode()),
        "); influence needs the weights of one moment, from a job in mode "
        "SYNCHRONOUS without step_timeout_seconds"));
  }
  PS_ASSIGN_OR_RETURN(const TrainingPlan plan,
                      PlanTraining(*source.config, source.set));
  PS_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> snapshots,
                      FindJobSnapshots(Files::Real(), source.snapshots));
  Checkpoints kept;
  for (const JobSnapshot& job_snapshot : snapshots) {
    const auto snapshot = PartOf(job_snapshot, WorkerProcess(0));
    // Another process may have written it only.
    if (absl::IsNotFound(snapshot.status())) continue;
    PS_RETURN_IF_ERROR(snapshot.status());
    PS_ASSIGN_OR_RETURN(kept.emplace_back(),
                        ReadCheckpoint(source, plan, *snapshot));
  }
  if (kept.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no snapshot in ", source.snapshots,
                     " has a part of worker-0, which holds the weights"));
  }
  const absl::StatusOr<RunRecords> records = ReadRunRecords(source.run);
  int64_t after = 0;
  for (InfluenceCheckpoint& checkpoint : kept) {
    const int64_t until = plan.pushes.Begin(checkpoint.push);
    checkpoint.training_loss =
        MeanLoss(records.ok() ? *records : RunRecords(), after, until);
    after = until;
  }
  return kept;
}

absl::StatusOr<ChosenCheckpoints> ChooseCheckpoints(
    const Checkpoints& kept, absl::string_view selector) {
  ChosenCheckpoints chosen;
  absl::string_view rest = selector;
  bool listed = false;
  if (selector == "all") {
    chosen.checkpoints = kept;
  } else if (absl::ConsumePrefix(&rest, "every:")) {
    PS_ASSIGN_OR_RETURN(const int64_t every, ParseCount(rest, selector));
    for (size_t i = 0; i < kept.size(); ++i) {
      if ((kept.size() - 1 - i) % every == 0) {
        chosen.checkpoints.push_back(kept[i]);
      }
    }
  } else if (absl::ConsumePrefix(&rest, "spread:")) {
    PS_ASSIGN_OR_RETURN(const int64_t count, ParseCount(rest, selector));
    PS_ASSIGN_OR_RETURN(chosen.checkpoints, Spread(kept, count));
    if (count > static_cast<int64_t>(kept.size())) {
      chosen.warning =
          absl::StrCat("the run has kept ", Counted(kept.size(), "snapshot"),
                       ", the first "
                       "after ",
                       Counted(kept[0].push, "push"), ", and not ", count, "; ",
                       kHowToKeepMore);
    }
  } else {
    PS_ASSIGN_OR_RETURN(chosen.checkpoints, Listed(kept, selector));
    listed = true;
  }
  PS_RETURN_IF_ERROR(CheckUseful(chosen.checkpoints, listed, kept.size()));
  return chosen;
}

}  // namespace ps
