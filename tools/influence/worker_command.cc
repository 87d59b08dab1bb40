#include "tools/influence/worker_command.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/counted.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "formats/npy_row_file.h"
#include "glog/logging.h"
#include "tools/influence/unit_work.h"
#include "tools/process/find_program.h"
#include "tools/process/requests.h"
#include "tools/process/temporary_directory.h"
#include "tools/process/worker_pool.h"

namespace ps {
namespace {

constexpr char kPlanFile[] = "plan.json";

std::string UnitFile(const std::string& directory, int64_t unit) {
  return absl::StrCat(directory, "/unit-", unit);
}

absl::StatusOr<InfluencePlan> ReadPlan(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kPlanFile);
  PS_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  absl::StatusOr<InfluencePlan> plan = ParsePlan(bytes);
  if (!plan.ok()) return Annotate(plan.status(), path);
  return plan;
}

// A process's units; reads the plan when the first one comes.
class Worker {
 public:
  explicit Worker(std::string directory) : directory_(std::move(directory)) {}

  absl::Status Do(absl::string_view request) {
    int64_t unit = -1;
    if (!absl::SimpleAtoi(request, &unit)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", request, "\" is no unit of work"));
    }
    if (work_ == nullptr) {
      PS_ASSIGN_OR_RETURN(const InfluencePlan plan, ReadPlan(directory_));
      units_ = CutIntoUnits(plan);
      PS_ASSIGN_OR_RETURN(work_, UnitWork::Create(plan));
    }
    if (unit < 0 || unit >= static_cast<int64_t>(units_.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("unit ", unit, " of ", units_.size()));
    }
    PS_ASSIGN_OR_RETURN(const ExampleScores scores,
                        work_->Compute(units_[unit]));
    return WriteFileAtomically(UnitFile(directory_, unit), SaveScores(scores));
  }

 private:
  const std::string directory_;
  std::vector<WorkUnit> units_;
  std::unique_ptr<UnitWork> work_;
};

// The results of units, which lie in a folder.
class UnitResults {
 public:
  UnitResults(const InfluencePlan& plan, const std::vector<WorkUnit>& units,
              std::string directory)
      : plan_(plan), units_(units), directory_(std::move(directory)) {}

  absl::StatusOr<WorkDone> AddUp() const {
    WorkDone done = {InfluenceSums(plan_.num_examples,
                                   static_cast<int64_t>(plan_.queries.size())),
                     ExampleScores()};
    for (size_t i = 0; i < units_.size(); ++i) {
      PS_ASSIGN_OR_RETURN(ExampleScores scores, Read(i));
      if (units_[i].of_queries) {
        done.queries = std::move(scores);
      } else {
        done.sums.Add(units_[i].begin, RateOf(units_[i]), scores);
      }
    }
    return done;
  }

  // One row for each training example and then each query. It has the sketches
  // of all checkpoints, each multiplied by the root of the learning rate, so
  // that the inner product of two rows estimates influence.
  absl::Status WriteSketches(const std::string& path) const {
    std::optional<NpyRowFile> file;
    // All checkpoints have the same units.
    const size_t each = units_.size() / plan_.checkpoints.size();
    const size_t of_queries = plan_.queries.empty() ? 0 : 1;
    for (size_t i = of_queries; i < each; ++i) {
      PS_RETURN_IF_ERROR(WriteRows(i, each, path, &file));
    }
    if (of_queries > 0) {
      PS_RETURN_IF_ERROR(WriteRows(0, each, path, &file));
    }
    return file->Close();
  }

 private:
  absl::StatusOr<ExampleScores> Read(size_t unit) const {
    const std::string path = UnitFile(directory_, unit);
    PS_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    absl::StatusOr<ExampleScores> scores = LoadScores(bytes);
    if (!scores.ok()) return Annotate(scores.status(), path);
    return scores;
  }

  double RateOf(const WorkUnit& unit) const {
    return plan_.checkpoints[unit.checkpoint].learning_rate;
  }

  // The rows of the unit and of every `step`-th after it, which are those of
  // the same examples.
  absl::Status WriteRows(size_t first, size_t step, const std::string& path,
                         std::optional<NpyRowFile>* file) const {
    std::vector<std::vector<float>> rows;
    for (size_t i = first; i < units_.size(); i += step) {
      PS_ASSIGN_OR_RETURN(const ExampleScores scores, Read(i));
      const double root = std::sqrt(RateOf(units_[i]));
      rows.resize(scores.size());
      const size_t size = scores.sketches.size() / rows.size();
      for (size_t k = 0; k < scores.sketches.size(); ++k) {
        rows[k / size].push_back(static_cast<float>(root * scores.sketches[k]));
      }
    }
    if (!file->has_value()) {
      PS_ASSIGN_OR_RETURN(
          NpyRowFile created,
          NpyRowFile::Create(path, static_cast<int64_t>(rows[0].size())));
      file->emplace(std::move(created));
    }
    for (const std::vector<float>& row : rows) {
      PS_RETURN_IF_ERROR((*file)->Append(row));
    }
    return absl::OkStatus();
  }

  const InfluencePlan& plan_;
  const std::vector<WorkUnit>& units_;
  const std::string directory_;
};

// A line that a terminal shows while the work is done.
class ProgressLine {
 public:
  explicit ProgressLine(int64_t total)
      : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { Erase(); }

  void Show(int64_t done) const {
    if (!shown_) return;
    std::fprintf(stderr, "\r%lld of %s", static_cast<long long>(done),
                 Counted(total_, "unit of work").c_str());
  }
  void Erase() const {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  const int64_t total_;
  const bool shown_;
};

}  // namespace

int RunInfluenceWorker(int argc, char** argv) {
  std::string directory;
  CommandText text;
  text.program = absl::StrCat("gradsieve influence ", kInfluenceWorker);
  text.description = "A process that gradsieve influence starts.";
  CommandLine command_line(text);
  command_line.AddArgument("DIR", "The folder with the plan.", &directory);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = google::GLOG_WARNING;
  Worker worker(directory);
  return AnswerRequests(
      &std::cin,
      [&worker](absl::string_view unit) -> absl::StatusOr<std::string> {
        PS_RETURN_IF_ERROR(worker.Do(unit));
        return std::string(unit);
      });
}

absl::StatusOr<WorkDone> DoWork(const InfluencePlan& plan,
                                int64_t num_processes,
                                const std::string& sketches) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryDirectory> directory,
                      TemporaryDirectory::Create());
  PS_RETURN_IF_ERROR(WriteFileAtomically(
      absl::StrCat(directory->path(), "/", kPlanFile), SerializePlan(plan)));
  const std::vector<WorkUnit> units = CutIntoUnits(plan);
  const ProgressLine line(static_cast<int64_t>(units.size()));
  WorkerPoolOptions options;
  PS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  options.command = {program, "influence", kInfluenceWorker, directory->path()};
  options.num_processes = num_processes;
  for (const WorkUnit& unit : units) options.groups.push_back(unit.checkpoint);
  options.progress = [&line](int64_t done) { line.Show(done); };
  options.lost = [&line](const std::string& message) {
    line.Erase();
    std::fprintf(stderr, "gradsieve influence: %s\n", message.c_str());
  };
  PS_RETURN_IF_ERROR(DoAllUnits(options));
  const UnitResults results(plan, units, directory->path());
  if (plan.sketch_size > 0) {
    PS_RETURN_IF_ERROR(results.WriteSketches(sketches));
  }
  return results.AddUp();
}

}  // namespace ps
