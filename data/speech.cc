// Implements the data set "speech": WAV files with transcripts.

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "common/text_file.h"
#include "data/config_rules.h"
#include "data/dataset.h"
#include "data/folder.h"
#include "data/held_out.h"
#include "data/recordings.h"
#include "data/speech_dataset.h"
#include "data/transcripts.h"
#include "data/wav.h"

namespace ps {
namespace {

// The most dropped recordings that a note names.
constexpr size_t kMaxNamed = 3;

bool IsDamaged(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsInvalidArgument(status);
}

class WavRecordings final : public Recordings {
 public:
  // `transcripts` have the files' full paths.
  WavRecordings(std::vector<Transcript> transcripts, int64_t sample_rate,
                int64_t min_samples)
      : transcripts_(std::move(transcripts)),
        sample_rate_(sample_rate),
        min_samples_(min_samples) {}

  int64_t size() const override {
    return static_cast<int64_t>(transcripts_.size());
  }
  const std::string& transcript(int64_t number) const override {
    return transcripts_[number].text;
  }

  std::string name(int64_t number) const override {
    return transcripts_[number].path;
  }
  std::optional<int64_t> num_samples(int64_t number) const override {
    return transcripts_[number].num_samples;
  }

  absl::StatusOr<std::vector<int16_t>> Samples(int64_t number) const override {
    const std::string& path = transcripts_[number].path;
    PS_ASSIGN_OR_RETURN(Wav wav, ReadWav(path));
    if (wav.sample_rate != sample_rate_) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": has ", wav.sample_rate,
          " samples a second; the first training file has ", sample_rate_));
    }
    if (static_cast<int64_t>(wav.samples.size()) < min_samples_) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": has ", wav.samples.size(),
                       " samples; a window has ", min_samples_));
    }
    return std::move(wav.samples);
  }

  // Returns path and words of each recording, relative to `folder`.
  std::vector<std::string> Names(const std::string& folder) const {
    std::vector<std::string> names;
    for (const Transcript& transcript : transcripts_) {
      names.push_back(absl::StrCat(transcript.path.substr(folder.size() + 1),
                                   "\t", transcript.text));
    }
    return names;
  }

  // Reads every file once, before any other use. Removes recordings of more
  // than max_samples and, if it may, those that are damaged or too short;
  // *notes say how many. Errors: kInvalidArgument, with the reasons, if none is
  // left.
  absl::Status Check(const std::string& folder, int64_t max_samples,
                     bool may_remove_damaged, std::vector<std::string>* notes) {
    std::vector<Transcript> kept;
    std::vector<std::string> damaged;
    int64_t longer = 0;
    for (int64_t i = 0; i < size(); ++i) {
      const absl::StatusOr<std::vector<int16_t>> samples = Samples(i);
      if (IsDamaged(samples.status()) && may_remove_damaged) {
        damaged.emplace_back(samples.status().message());
        continue;
      }
      PS_RETURN_IF_ERROR(samples.status());
      transcripts_[i].num_samples = static_cast<int64_t>(samples->size());
      if (transcripts_[i].num_samples <= max_samples) {
        kept.push_back(std::move(transcripts_[i]));
      } else {
        ++longer;
      }
    }
    std::vector<std::string> removed;
    if (longer > 0) {
      removed.push_back(
          absl::StrCat(longer, " of ", transcripts_.size(),
                       " recordings are longer than data.speech.max_seconds, ",
                       static_cast<double>(max_samples) /
                           static_cast<double>(sample_rate_)));
    }
    if (!damaged.empty()) {
      const size_t named = std::min(damaged.size(), kMaxNamed);
      removed.push_back(absl::StrCat(
          damaged.size(), " of ", transcripts_.size(),
          " recordings cannot be used (data.on_bad_example): ",
          absl::StrJoin(absl::MakeSpan(damaged).first(named), "; "),
          damaged.size() > named ? "; ..." : ""));
    }
    if (kept.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          folder,
          ": no recording is left: ", absl::StrJoin(removed, ", and ")));
    }
    for (const std::string& each : removed) {
      notes->push_back(absl::StrCat(folder, ": left out: ", each));
    }
    transcripts_ = std::move(kept);
    return absl::OkStatus();
  }

 private:
  std::vector<Transcript> transcripts_;
  const int64_t sample_rate_;
  const int64_t min_samples_;
};

// Returns the folders of `directory` that are named `part` or end with "_part".
absl::StatusOr<std::vector<std::string>> FoldersOf(const std::string& directory,
                                                   const std::string& part) {
  PS_ASSIGN_OR_RETURN(const FolderContents contents, ListFolder(directory));
  std::vector<std::string> found;
  for (const std::string& name : contents.folders) {
    if (name == part || absl::EndsWith(name, "_" + part)) found.push_back(name);
  }
  return found;
}

// Returns the only one of FoldersOf.
absl::StatusOr<std::string> FindPart(const std::string& directory,
                                     const std::string& part) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                      FoldersOf(directory, part));
  if (found.size() != 1) {
    return absl::NotFoundError(absl::StrCat(
        "data.directory ", directory, " has ", found.size(), " folders named ",
        part, " or ending with _", part, "; must have one"));
  }
  return absl::StrCat(directory, "/", found[0]);
}

// Returns the folder of the training recordings, some of which are held out.
absl::StatusOr<std::string> FindOnlyPart(const DataConfig& config) {
  const std::string& directory = config.directory();
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> test,
                      FoldersOf(directory, "test"));
  if (!test.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.validation_fraction is ", config.validation_fraction(),
        "; must be 0, because there is a test set: ", directory, "/", test[0]));
  }
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> train,
                      FoldersOf(directory, "train"));
  if (train.empty()) return directory;
  return FindPart(directory, "train");
}

absl::StatusOr<std::vector<Transcript>> ReadTranscripts(
    const std::string& folder) {
  const std::string list_path = folder + "/transcripts.tsv";
  PS_ASSIGN_OR_RETURN(const std::string list, ReadRegularText(list_path));
  auto transcripts = ParseTranscripts(list);
  if (!transcripts.ok()) return Annotate(transcripts.status(), list_path);
  for (Transcript& transcript : *transcripts) {
    transcript.path = absl::StrCat(folder, "/", transcript.path);
  }
  return transcripts;
}

// Describes the .wav files below `folder` that none of the transcripts names.
std::string UnreadRecordings(const std::string& folder,
                             const std::vector<Transcript>& transcripts) {
  namespace fs = std::filesystem;
  std::set<std::string> named;
  for (const Transcript& transcript : transcripts) {
    named.insert(fs::path(transcript.path).lexically_normal());
  }
  std::vector<std::string> unread;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string path = it->path().lexically_normal();
    if (absl::EndsWithIgnoreCase(path, ".wav") && named.count(path) == 0) {
      unread.push_back(path);
    }
  }
  std::sort(unread.begin(), unread.end());
  return Unread(unread, absl::StrCat("recordings are those that ", folder,
                                     "/transcripts.tsv names"));
}

absl::StatusOr<DatasetPair> NewSpeech(const DatasetOptions& options) {
  const SpeechConfig& config = options.config.speech();
  const std::string& directory = options.config.directory();
  const bool holds_out = options.config.validation_fraction() > 0;
  PS_ASSIGN_OR_RETURN(
      const std::string train_folder,
      holds_out ? FindOnlyPart(options.config) : FindPart(directory, "train"));
  PS_ASSIGN_OR_RETURN(const std::string test_folder,
                      holds_out ? train_folder : FindPart(directory, "test"));
  PS_ASSIGN_OR_RETURN(std::vector<Transcript> train_transcripts,
                      ReadTranscripts(train_folder));
  DatasetPair pair;
  const auto note_unread = [&pair](const std::string& folder,
                                   const std::vector<Transcript>& transcripts) {
    std::string note = UnreadRecordings(folder, transcripts);
    if (!note.empty()) pair.notes.push_back(std::move(note));
  };
  note_unread(train_folder, train_transcripts);
  std::vector<Transcript> test_transcripts;
  if (holds_out) {
    PS_ASSIGN_OR_RETURN(test_transcripts, HoldOut(options, &train_transcripts));
  } else {
    PS_ASSIGN_OR_RETURN(test_transcripts, ReadTranscripts(test_folder));
    note_unread(test_folder, test_transcripts);
  }
  const bool may_remove_damaged =
      options.config.on_bad_example() == DataConfig::SKIP;
  size_t number = 0;
  absl::StatusOr<Wav> first = ReadWav(train_transcripts[0].path);
  while (may_remove_damaged && IsDamaged(first.status()) &&
         number + 1 < train_transcripts.size()) {
    first = ReadWav(train_transcripts[++number].path);
  }
  PS_RETURN_IF_ERROR(first.status());
  const int64_t sample_rate = first->sample_rate;
  auto features = SpeechFeatures::Create(config, sample_rate);
  if (!features.ok()) {
    return Annotate(features.status(), train_transcripts[number].path);
  }
  auto train = std::make_unique<WavRecordings>(
      std::move(train_transcripts), sample_rate, features->window_size());
  PS_RETURN_IF_ERROR(
      train->Check(train_folder,
                   static_cast<int64_t>(config.max_seconds() *
                                        static_cast<double>(sample_rate)),
                   may_remove_damaged, &pair.notes));
  auto test = std::make_unique<WavRecordings>(
      std::move(test_transcripts), sample_rate, features->window_size());
  PS_RETURN_IF_ERROR(test->Check(test_folder,
                                 std::numeric_limits<int64_t>::max(),
                                 may_remove_damaged, &pair.notes));
  std::vector<const Recordings*> read = {train.get()};
  // Characters that occur only in held-out recordings have numbers, too.
  if (holds_out) read.push_back(test.get());
  const std::string alphabet = SpeechAlphabet(read);
  pair.description.Add("samples a second", absl::StrCat(sample_rate));
  pair.description.AddList("training recording", train->Names(train_folder));
  pair.description.AddList("test recording", test->Names(test_folder));
  PS_ASSIGN_OR_RETURN(pair.train,
                      NewSpeechDataset(std::move(train), *features, alphabet));
  auto test_set = NewSpeechDataset(std::move(test), *features, alphabet);
  if (!test_set.ok()) return Annotate(test_set.status(), test_folder);
  pair.test = *std::move(test_set);
  return pair;
}

void CheckSpeechDirectory(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "speech", "the recordings", "tones", problems);
}

REGISTER_DATASET("speech", "WAV files with transcripts, from data.directory",
                 NewSpeech);
const bool kDirectoryCheckRegistered =
    RegisterConfigCheck(CheckSpeechDirectory);

}  // namespace
}  // namespace ps
