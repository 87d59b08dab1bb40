#include "common/config.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/config_check.h"
#include "common/config_text.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/device_name.h"
#include "common/external_model.h"
#include "common/field_rules.h"
#include "common/host_and_port.h"
#include "common/job_fields.h"
#include "common/nearest_word.h"
#include "common/schedule.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "common/text_file.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace ps {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::TextFormat;

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
  }
  return names;
}

// Ignores the errors of a text.
class NoErrors : public ::google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

template <typename Config>
absl::StatusOr<Config> ParseText(absl::string_view text,
                                 absl::string_view name) {
  Config config;
  const ConfigText read(text, name, &config);
  if (!read.problems().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(read.problems(), "\n"));
  }
  return config;
}

// One value of `field` in text format: strings are quoted.
std::string ValueText(const FieldDescriptor& field, absl::string_view value) {
  if (field.type() != FieldDescriptor::TYPE_STRING) return std::string(value);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  return absl::StrCat("\"", absl::CEscape(value), "\"");
}

// Whether `value` is a single number or name. Text format would parse anything
// after a space or a comma as further fields.
bool IsOneWord(absl::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '+' ||
           c == '-';
  });
}

// A job's name becomes a part of paths and of certificates.
bool IsJobName(absl::string_view name) {
  constexpr size_t kMaxBytes = 64;
  return !name.empty() && name.size() <= kMaxBytes &&
         absl::ascii_isalnum(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

// Describes the values of a field that `value` is not one of.
std::string KindOf(const FieldDescriptor& field, absl::string_view value) {
  if (field.enum_type() == nullptr) {
    std::string kind = absl::StrCat("of type ", field.cpp_type_name());
    // The value may have a decimal comma, or be a percentage.
    std::string number = absl::StrReplaceAll(value, {{",", "."}});
    const bool percent = absl::EndsWith(number, "%");
    if (percent) number.pop_back();
    double meant = 0;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE &&
        absl::SimpleAtod(number, &meant)) {
      absl::StrAppend(&kind, "; did you mean ", percent ? meant / 100 : meant,
                      "?");
    }
    return kind;
  }
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    names.push_back(field.enum_type()->value(i)->name());
  }
  return absl::StrCat("one of ", absl::StrJoin(names, ", "),
                      DidYouMean(value, names));
}

// Whether the presence of the section has an effect, whatever it holds.
bool ChosenByPresence(const FieldDescriptor& section) {
  for (const absl::string_view name :
       {"ps.JobConfig.worker_optimizer", "ps.TrainingConfig.layer_parallel",
        "ps.LayerParallelConfig.aux_network"}) {
    if (section.full_name() == name) return true;
  }
  return false;
}

// Writes a copy of *message in which every scalar field is set explicitly,
// except those of absent sections that are chosen by their presence.
void SetDefaults(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const Descriptor& type = *message->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (ChosenByPresence(*field) && !reflection.HasField(*message, field)) {
        continue;
      }
      SetDefaults(reflection.MutableMessage(message, field));
      continue;
    }
    // A field without a default in the .proto takes its default from elsewhere
    // (a profile, for example), and writing a value here would override that.
    if (reflection.HasField(*message, field) || !field->has_default_value()) {
      continue;
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.SetInt32(message, field, field->default_value_int32());
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(message, field, field->default_value_int64());
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection.SetUInt32(message, field, field->default_value_uint32());
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection.SetUInt64(message, field, field->default_value_uint64());
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection.SetDouble(message, field, field->default_value_double());
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.SetFloat(message, field, field->default_value_float());
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(message, field, field->default_value_bool());
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnum(message, field, field->default_value_enum());
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(message, field, field->default_value_string());
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        break;
    }
  }
}

// Sets the fields whose default depends on others.
void SetJobDefaults(JobConfig* job) {
  job->mutable_optimizer()->set_learning_rate(BaseLearningRate(*job));
  job->mutable_cluster()->set_max_slice_elements(MaxSliceElements(*job));
}

// Maps "a.b" to the value's text for every scalar of a message, and "a[2].b"
// for one in a list; repeated values are joined.
void Flatten(const Message& message, const std::string& prefix,
             std::map<std::string, std::string>* values) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < count; ++i) {
        if (field->is_repeated()) {
          Flatten(reflection.GetRepeatedMessage(message, field, i),
                  absl::StrCat(path, "[", i, "]."), values);
        } else {
          Flatten(reflection.GetMessage(message, field), path + ".", values);
        }
      }
      continue;
    }
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) {
      std::string text;
      TextFormat::PrintFieldValueToString(message, field,
                                          field->is_repeated() ? i : -1, &text);
      texts.push_back(text);
    }
    (*values)[path] = absl::StrJoin(texts, ",");
  }
}

// A part of an override's path: "layer[2]".
struct NameAndIndex {
  std::string name;
  int index = -1;  // There is none.
};

NameAndIndex SplitIndex(const std::string& part) {
  const size_t bracket = part.find('[');
  NameAndIndex split;
  if (bracket == std::string::npos || part.back() != ']' ||
      !absl::SimpleAtoi(part.substr(bracket + 1, part.size() - bracket - 2),
                        &split.index) ||
      split.index < 0) {
    return {part, -1};
  }
  split.name = part.substr(0, bracket);
  return split;
}

// The message of *message that `part`, which names `field`, leads to.
absl::StatusOr<Message*> MessageAt(const NameAndIndex& part,
                                   const FieldDescriptor* field,
                                   Message* message,
                                   absl::string_view assignment) {
  const Reflection& reflection = *message->GetReflection();
  if (!field->is_repeated() && part.index < 0) {
    return reflection.MutableMessage(message, field);
  }
  const int size =
      field->is_repeated() ? reflection.FieldSize(*message, field) : 0;
  if (part.index >= 0 && part.index < size) {
    return reflection.MutableRepeatedMessage(message, field, part.index);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "override \"", assignment, "\": \"", part.name, "\" ",
      field->is_repeated() ? absl::StrCat("is a list of ", size,
                                          " elements; name one of them, as in ",
                                          part.name, "[0]")
                           : "is not a list"));
}

void CheckServers(const ClusterConfig& cluster, ConfigProblems* problems) {
  if (cluster.servers_size() != 0 &&
      cluster.servers_size() != cluster.num_servers()) {
    problems->Add(
        "cluster.servers",
        absl::StrCat("a list of ", Counted(cluster.servers_size(), "address")),
        absl::StrCat("must be one for each of the ", cluster.num_servers(),
                     " servers (cluster.num_servers), or none"));
  }
  for (int i = 0; i < cluster.servers_size(); ++i) {
    const std::string& address = cluster.servers(i);
    const std::string field = absl::StrCat("cluster.servers[", i, "]");
    const std::string value = absl::StrCat("\"", address, "\"");
    problems->CheckThat(
        IsServerAddress(address), field, value,
        absl::StrCat(kHostAndPortRule, ", or unix:/path of at most 107 bytes"));
    const auto parts = ParseHostAndPort(address);
    const int same = static_cast<int>(
        std::find(cluster.servers().begin(), cluster.servers().end(), address) -
        cluster.servers().begin());
    problems->CheckThat(
        same == i || (parts.has_value() && parts->port == 0), field, value,
        absl::StrCat("must differ from cluster.servers[", same, "]"));
  }
}

// Checks what depends on several fields, or has a form of its own, in the
// fields that no plug-in owns.
void CheckCommonFields(const JobConfig& config, ConfigProblems* problems) {
  problems->CheckThat(
      IsJobName(config.name()), "name",
      absl::StrCat("\"", absl::CHexEscape(config.name()), "\""),
      "must be 1 to 64 letters, digits, \".\", \"_\" and \"-\", the first a "
      "letter or a digit");
  const TrainingConfig& training = config.training();
  problems->CheckThat(
      training.early_stopping().patience() <= 0 || !WorkersDrift(config),
      "training.early_stopping.patience", training.early_stopping().patience(),
      "must be 0 unless consistency.mode is SYNCHRONOUS and "
      "consistency.step_timeout_seconds 0: otherwise workers cannot end "
      "after the same push");
  const bool replaces = config.checkpoint().replace_lost_workers();
  problems->CheckThat(
      !replaces || !WorkersDrift(config), "checkpoint.replace_lost_workers",
      "true",
      "must be false unless consistency.mode is SYNCHRONOUS and "
      "consistency.step_timeout_seconds 0");
  // These rules correct the bias of the first steps by the iteration, so
  // moments that start anew would make steps several times too long.
  const std::string& own_rule = config.worker_optimizer().name();
  problems->CheckThat(
      !replaces || (own_rule != "adam" && own_rule != "adamw"),
      "checkpoint.replace_lost_workers", "true",
      "must be false with worker_optimizer adam and adamw, whose moments "
      "would be lost");
  CheckServers(config.cluster(), problems);
  CheckConsistency(config, problems);
  const MachineConfig& machine = config.machine();
  problems->CheckThat(
      ParseDeviceName(machine.device()).has_value(), "machine.device",
      absl::StrCat("\"", machine.device(), "\""), kDeviceNameRule);
  problems->CheckThat(
      training.precision() == TrainingConfig::FP32 || machine.device() != "cpu",
      "training.precision",
      TrainingConfig::Precision_Name(training.precision()),
      "must be FP32 where machine.device is \"cpu\"");
  problems->CheckThat(
      !machine.cudnn_recurrent() || !machine.deterministic(),
      "machine.cudnn_recurrent", "true",
      "must be false unless machine.deterministic is false, since cuDNN "
      "does not promise the same bits in every run");
}

// Applies those overrides that can be applied.
void ApplyAll(const std::vector<std::string>& overrides, JobConfig* config,
              std::vector<std::string>* problems) {
  for (const std::string& assignment : overrides) {
    const absl::Status applied = ApplyOverride(assignment, config);
    if (!applied.ok()) problems->emplace_back(applied.message());
  }
}

// Adds the problems of the values, each with the place where its field was set
// last.
void AddProblems(const JobConfig& config,
                 const std::vector<std::string>& overrides,
                 const ConfigText* text, std::vector<std::string>* problems) {
  const ConfigProblems found = FindProblems(config);
  for (size_t i = 0; i < found.lines().size(); ++i) {
    const std::string& field = found.fields()[i];
    std::string place = text == nullptr ? "" : text->PlaceOf(field);
    for (const std::string& assignment : overrides) {
      const std::string path = assignment.substr(0, assignment.find('='));
      if (absl::StripAsciiWhitespace(path) == field) place = "--set: ";
    }
    problems->push_back(absl::StrCat(place, found.lines()[i]));
  }
}

absl::Status StatusOfJob(const std::string& path,
                         const std::vector<std::string>& problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, " is not a valid job:\n", absl::StrJoin(problems, "\n")));
}

}  // namespace

absl::StatusOr<JobConfig> ParseConfig(absl::string_view text,
                                      absl::string_view name) {
  return ParseText<JobConfig>(text, name);
}

absl::StatusOr<CompressorConfig> ParseCompressorConfig(absl::string_view text,
                                                       absl::string_view name) {
  return ParseText<CompressorConfig>(text, name);
}

absl::StatusOr<JobConfig> LoadConfig(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return ParseConfig(text, path);
}

absl::Status ApplyOverride(absl::string_view assignment, JobConfig* config) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "override \"", assignment,
        "\" has no '='; write path=value, as in compressor.ratio=0.001"));
  }
  const absl::string_view path =
      absl::StripAsciiWhitespace(assignment.substr(0, equals));
  const absl::string_view value =
      absl::StripAsciiWhitespace(assignment.substr(equals + 1));
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  JobConfig changed = *config;  // An error leaves *config as it was.
  Message* message = &changed;
  for (size_t i = 0; i < names.size(); ++i) {
    const Descriptor& type = *message->GetDescriptor();
    const bool last = i + 1 == names.size();
    const NameAndIndex part =
        last ? NameAndIndex{names[i], -1} : SplitIndex(names[i]);
    const FieldDescriptor* field = type.FindFieldByName(part.name);
    if (field == nullptr) {
      std::string nearest = NearestWord(names[i], FieldNames(type));
      if (nearest.empty() && i == 0) nearest = NearestField(names.back());
      return absl::InvalidArgumentError(absl::StrCat(
          "override \"", assignment, "\": there is no field \"", names[i], "\"",
          nearest.empty() ? ""
                          : absl::StrCat("; did you mean \"", nearest, "\"?"),
          nearest.empty() ? "; known" : " Known",
          " here are: ", absl::StrJoin(FieldNames(type), ", ")));
    }
    const bool is_message =
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!last) {
      if (!is_message) {
        return absl::InvalidArgumentError(absl::StrCat(
            "override \"", assignment, "\": \"", names[i],
            "\" is a single value and has no field \"", names[i + 1], "\""));
      }
      PS_ASSIGN_OR_RETURN(message, MessageAt(part, field, message, assignment));
      continue;
    }
    if (is_message) {
      return absl::InvalidArgumentError(absl::StrCat(
          "override \"", assignment, "\": \"", path,
          "\" is a group of fields; set one of: ",
          absl::StrJoin(FieldNames(*field->message_type()), ", ")));
    }
    message->GetReflection()->ClearField(message, field);
    std::vector<std::string> values = {std::string(value)};
    if (field->is_repeated()) {
      values = absl::StrSplit(value, ',', absl::SkipWhitespace());
    }
    for (const std::string& untrimmed : values) {
      const absl::string_view one = absl::StripAsciiWhitespace(untrimmed);
      TextFormat::Parser parser;
      NoErrors ignored;  // Positions inside the value are of no use.
      parser.RecordErrorsTo(&ignored);
      const std::string text =
          absl::StrCat(names[i], ": ", ValueText(*field, one));
      if ((field->type() != FieldDescriptor::TYPE_STRING && !IsOneWord(one)) ||
          !parser.MergeFromString(text, message)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "override \"", assignment, "\": \"", one, "\" is not a value of ",
            path, ", which is ", KindOf(*field, one)));
      }
    }
  }
  *config = std::move(changed);
  return absl::OkStatus();
}

ConfigProblems FindProblems(const JobConfig& config) {
  ConfigProblems problems;
  CheckFields(config, "", &problems);
  CheckCommonFields(config, &problems);
  CheckExternalModel(config, &problems);
  for (const ConfigCheck check : ConfigChecks()) check(config, &problems);
  return problems;
}

absl::Status ValidateConfig(const JobConfig& config) {
  const ConfigProblems problems = FindProblems(config);
  if (problems.lines().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "\n"));
}

absl::StatusOr<JobConfig> LoadJob(const std::string& path,
                                  const std::vector<std::string>& overrides) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  JobConfig config;
  const ConfigText read(text, path, &config);
  std::vector<std::string> problems = read.problems();
  ApplyAll(overrides, &config, &problems);
  // What follows the place where reading stopped is not known.
  if (read.reached_end()) {
    AddProblems(config, overrides, &read, &problems);
  }
  PS_RETURN_IF_ERROR(StatusOfJob(path, problems));
  return config;
}

absl::StatusOr<JobConfig> WithOverrides(
    JobConfig config, const std::vector<std::string>& overrides,
    const std::string& path) {
  std::vector<std::string> problems;
  ApplyAll(overrides, &config, &problems);
  AddProblems(config, overrides, /*text=*/nullptr, &problems);
  PS_RETURN_IF_ERROR(StatusOfJob(path, problems));
  return config;
}

std::string ResolvedConfigText(const JobConfig& config) {
  JobConfig resolved = config;
  SetJobDefaults(&resolved);
  SetDefaults(&resolved);
  std::string text;
  TextFormat::PrintToString(resolved, &text);
  return text;
}

std::string SharedConfigText(const JobConfig& config) {
  JobConfig shared = config;
  shared.clear_machine();
  SetJobDefaults(&shared);
  SetDefaults(&shared);
  shared.clear_machine();
  shared.mutable_cluster()->clear_servers();
  shared.mutable_data()->clear_directory();
  shared.mutable_checkpoint()->clear_directory();
  shared.mutable_security()->clear_directory();
  std::string text;
  TextFormat::PrintToString(shared, &text);
  return text;
}

std::vector<std::string> DescribeConfigDifferences(const std::string& ours,
                                                   const std::string& theirs,
                                                   bool values) {
  if (ours == theirs) return {};
  const absl::StatusOr<JobConfig> our_config = ParseConfig(ours, "here");
  const absl::StatusOr<JobConfig> their_config = ParseConfig(theirs, "there");
  for (const auto* config : {&our_config, &their_config}) {
    if (config->ok()) continue;
    return {absl::StrCat("a config of another version of this program: ",
                         config->status().message())};
  }
  std::vector<std::string> differences;
  std::map<std::string, std::string> our_values;
  std::map<std::string, std::string> their_values;
  Flatten(*our_config, "", &our_values);
  Flatten(*their_config, "", &their_values);
  for (const auto& entry : their_values) our_values.emplace(entry.first, "");
  for (const auto& entry : our_values) {
    const auto it = their_values.find(entry.first);
    const std::string& value = it == their_values.end() ? "" : it->second;
    if (value == entry.second) continue;
    if (!values) {
      differences.push_back(entry.first);
      continue;
    }
    const auto name = [](const std::string& text) {
      return text.empty() ? std::string("(unset)") : text;
    };
    differences.push_back(absl::StrCat(entry.first, ": ", name(value),
                                       " there and ", name(entry.second),
                                       " here"));
  }
  return differences;
}

}  // namespace ps
