#include "worker/job_notes.h"

#include <cstdint>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/counted.h"
#include "data/dataset.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/message_differencer.h"
#include "models/model.h"

namespace ps {
namespace {

// Whether the section has defaults only, which a resolved job writes out.
bool IsDefault(const google::protobuf::Message& section) {
  const std::unique_ptr<google::protobuf::Message> defaults(section.New());
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(
      google::protobuf::util::MessageDifferencer::EQUIVALENT);
  return differencer.Compare(section, *defaults);
}

// Whether a model or data set of this name may read the section. Sections have
// the name of one reader, and others may read them, too: "phrase_characters"
// reads "phrases".
bool MayRead(const std::string& name, const std::string& section) {
  return absl::StartsWith(name, section.substr(0, section.size() - 1));
}

template <typename Registry>
void AddSectionsOfOthers(absl::string_view of, const std::string& name,
                         const google::protobuf::Message& message,
                         const Registry& registry,
                         std::vector<std::string>* notes) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const auto* const field : fields) {
    const std::string& section = field->name();
    if (field->message_type() == nullptr || !registry.Find(section).ok() ||
        MayRead(name, section) ||
        IsDefault(message.GetReflection()->GetMessage(message, field))) {
      continue;
    }
    notes->push_back(absl::StrCat(of, ".", section, " has no effect: ", of,
                                  ".name is \"", name, "\""));
  }
}

}  // namespace

std::vector<std::string> JobNotes(const JobConfig& config,
                                  const TrainingPlan& plan) {
  std::vector<std::string> notes;
  AddSectionsOfOthers("model", config.model().name(), config.model(),
                      ModelRegistry(), &notes);
  AddSectionsOfOthers("data", config.data().name(), config.data(),
                      DatasetRegistry(), &notes);
  const bool delta = config.has_worker_optimizer();
  if (delta && (config.optimizer().name() != "sgd" ||
                (config.optimizer().has_learning_rate() &&
                 config.optimizer().learning_rate() != 1))) {
    notes.push_back(
        absl::StrCat("workers make steps of worker_optimizer (",
                     config.worker_optimizer().name(),
                     "), and servers take these for gradients of optimizer (",
                     config.optimizer().name(), ", learning_rate ",
                     config.optimizer().learning_rate(),
                     "); without optimizer they add the steps up"));
  }
  const int64_t updates =
      delta ? plan.total_iterations : plan.pushes.num_pushes();
  if (config.schedule().warmup_updates() >= updates && updates > 0) {
    notes.push_back(absl::StrCat(
        "schedule.warmup_updates is ", config.schedule().warmup_updates(),
        ", and this job makes ", Counted(updates, "update"),
        ": it ends before it reaches its learning rate"));
  }
  return notes;
}

}  // namespace ps
