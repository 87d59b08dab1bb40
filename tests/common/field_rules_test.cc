// The rules of the fields of a job (proto/field_rules.proto): each is sound, is
// kept by the field's default, and separates what it allows from what it
// refuses.
#include "common/field_rules.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "proto/field_rules.pb.h"

namespace ps {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FieldDescriptorProto;
using ::google::protobuf::FileDescriptorProto;
using ::google::protobuf::Message;
using ::google::protobuf::MessageFactory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void AddFields(const Descriptor& type, std::set<const Descriptor*>* seen,
               std::vector<const FieldDescriptor*>* fields) {
  if (!seen->insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    fields->push_back(&field);
    if (field.message_type() != nullptr) {
      AddFields(*field.message_type(), seen, fields);
    }
  }
}

// All fields of a job that have a rule.
std::vector<const FieldDescriptor*> FieldsWithRules() {
  std::set<const Descriptor*> seen;
  std::vector<const FieldDescriptor*> all;
  AddFields(*JobConfig::descriptor(), &seen, &all);
  std::vector<const FieldDescriptor*> fields;
  for (const FieldDescriptor* const field : all) {
    if (field->options().HasExtension(must_be)) fields.push_back(field);
  }
  return fields;
}

bool IsText(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

bool IsWhole(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_INT64;
}

bool IsFraction(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

// What is wrong with a rule.
std::string FaultOf(const FieldDescriptor& field) {
  const FieldRule& rule = field.options().GetExtension(must_be);
  const bool bounds = rule.has_min() || rule.has_max() || rule.has_above() ||
                      rule.has_below() || rule.has_zero();
  if (rule.required() && (field.is_repeated() || field.has_default_value())) {
    return "required";
  }
  if (rule.one_of_size() > 0) {
    return IsText(field) && !bounds ? "" : "a list of texts";
  }
  if (!IsWhole(field) && !IsFraction(field)) return "of no number";
  if (IsWhole(field) && !bounds) return "empty";
  if (rule.has_min() && rule.has_above()) return "two lower bounds";
  if (rule.has_max() && rule.has_below()) return "two upper bounds";
  const double infinity = std::numeric_limits<double>::infinity();
  const double low = rule.has_min()     ? rule.min()
                     : rule.has_above() ? rule.above()
                                        : -infinity;
  const double high = rule.has_max()     ? rule.max()
                      : rule.has_below() ? rule.below()
                                         : infinity;
  if (!(low < high)) return "allows nothing";
  for (const double bound : {low, high}) {
    if (IsWhole(field) && std::isfinite(bound) &&
        (bound != std::floor(bound) || std::abs(bound) > 1e15)) {
      return "a bound that is no whole number";
    }
  }
  return "";
}

// A message of the field's type with that field set to `value`.
std::unique_ptr<Message> With(const FieldDescriptor* field, double value) {
  std::unique_ptr<Message> message(MessageFactory::generated_factory()
                                       ->GetPrototype(field->containing_type())
                                       ->New());
  const auto& set = *message->GetReflection();
  const bool list = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto whole = static_cast<int32_t>(value);
      list ? set.AddInt32(message.get(), field, whole)
           : set.SetInt32(message.get(), field, whole);
      break;
    }
    case FieldDescriptor::CPPTYPE_INT64:
      set.SetInt64(message.get(), field, static_cast<int64_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      set.SetFloat(message.get(), field, static_cast<float>(value));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      set.SetDouble(message.get(), field, value);
      break;
    default:
      ADD_FAILURE() << field->full_name();
  }
  return message;
}

// The problem of the field, of whatever required fields are missing beside it.
std::string ProblemOf(const Message& message, const FieldDescriptor& field) {
  std::string problem;
  CheckFields(message, [&](const std::string& path, const std::string& value,
                           const std::string& rule) {
    if (path == field.name() || path == field.name() + "[0]") {
      problem = absl::StrCat(path, " is ", value, "; ", rule);
    }
  });
  return problem;
}

// The next number towards `direction` that the field can hold.
double Step(const FieldDescriptor& field, double from, double direction) {
  if (IsWhole(field)) return from + (direction > 0 ? 1 : -1);
  return field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT
             ? std::nextafter(static_cast<float>(from),
                              static_cast<float>(direction))
             : std::nextafter(from, direction);
}

void ExpectAllowed(const FieldDescriptor* field, double value) {
  EXPECT_EQ(ProblemOf(*With(field, value), *field), "")
      << field->full_name() << " " << value;
}

void ExpectRefused(const FieldDescriptor* field, double value) {
  const std::string number = IsWhole(*field)
                                 ? absl::StrCat(static_cast<int64_t>(value))
                                 : absl::StrCat(value);
  const std::string problem = ProblemOf(*With(field, value), *field);
  EXPECT_THAT(problem, HasSubstr(absl::StrCat(" is ", number, "; must be ")))
      << field->full_name();
  EXPECT_TRUE(absl::EndsWith(problem, RuleOf(*field))) << problem;
}

TEST(FieldRules, AreSound) {
  EXPECT_GT(FieldsWithRules().size(), 100);
  for (const FieldDescriptor* const field : FieldsWithRules()) {
    EXPECT_EQ(FaultOf(*field), "") << field->full_name();
  }
}

// Defaults are in jobs of any kind, so no check may depend on them.
TEST(FieldRules, AreKeptByDefaults) {
  for (const FieldDescriptor* const field : FieldsWithRules()) {
    if (!field->has_default_value()) continue;
    if (IsText(*field)) {
      const auto& known = field->options().GetExtension(must_be).one_of();
      EXPECT_THAT(known, testing::Contains(field->default_value_string()));
      continue;
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        ExpectAllowed(field, field->default_value_int32());
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        ExpectAllowed(field, static_cast<double>(field->default_value_int64()));
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        ExpectAllowed(field, field->default_value_float());
        break;
      default:
        ExpectAllowed(field, field->default_value_double());
    }
  }
}

TEST(FieldRules, AllowTheirBoundsAndRefuseTheNextNumber) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const FieldDescriptor* const field : FieldsWithRules()) {
    const FieldRule& rule = field->options().GetExtension(must_be);
    if (IsText(*field)) continue;
    // 0 may be allowed below the bound.
    const auto refuse = [&](double value) {
      if (!rule.has_zero() || value != 0) ExpectRefused(field, value);
    };
    if (rule.has_min()) {
      ExpectAllowed(field, rule.min());
      refuse(Step(*field, rule.min(), -infinity));
    }
    if (rule.has_max()) {
      ExpectAllowed(field, rule.max());
      refuse(Step(*field, rule.max(), infinity));
    }
    if (rule.has_above()) {
      refuse(rule.above());
      ExpectAllowed(field, Step(*field, rule.above(), infinity));
    }
    if (rule.has_below()) {
      refuse(rule.below());
      ExpectAllowed(field, Step(*field, rule.below(), -infinity));
    }
    if (rule.has_zero()) ExpectAllowed(field, 0);
    if (IsFraction(*field)) {
      for (const double value : {infinity, -infinity, std::nan("")}) {
        ExpectRefused(field, value);
      }
    }
  }
}

TEST(FieldRules, ListTheTextsThatTheyAllow) {
  ScheduleConfig schedule;
  for (const std::string name : {"constant", "step", "cosine", "polynomial"}) {
    schedule.set_name(name);
    EXPECT_EQ(CheckFields(schedule), absl::OkStatus());
  }
  schedule.set_name("cosinus");
  EXPECT_EQ(CheckFields(schedule, "schedule.").message(),
            "schedule.name is \"cosinus\"; must be one of constant, step, "
            "cosine, polynomial; did you mean \"cosine\"?");
}

TEST(FieldRules, AreCheckedInGroupsAndLists) {
  JobConfig job;
  EXPECT_EQ(CheckFields(job), absl::OkStatus());
  job.mutable_training()->mutable_early_stopping()->set_patience(-1);
  job.mutable_model()->mutable_mlp()->add_hidden_units(3);
  job.mutable_model()->mutable_mlp()->add_hidden_units(0);
  job.mutable_compressor()->mutable_sidco()->set_stages(65);
  job.mutable_training()->set_bucket_megabytes(
      std::numeric_limits<double>::infinity());
  ConfigProblems problems;
  CheckFields(job, "", &problems);
  EXPECT_THAT(
      problems.lines(),
      ElementsAre(
          "model.mlp.hidden_units[1] is 0; must be at least 1",
          "training.bucket_megabytes is inf; must be finite and at least 0 (0: "
          "one bucket)",
          "training.early_stopping.patience is -1; must be at least 0 (0: "
          "never)",
          "compressor.sidco.stages is 65; must be in [1, 64], or 0 for "
          "adaptive"));
}

TEST(FieldRules, ARequiredFieldMustBeSet) {
  LayerConfig layer;
  EXPECT_EQ(CheckFields(layer), absl::OkStatus());
  layer.mutable_embedding();
  EXPECT_EQ(CheckFields(layer).message(),
            "embedding.features is 0; must be in [1, 16384]");
  layer.mutable_embedding()->mutable_initial_weight()->set_constant(
      std::nan(""));
  layer.mutable_embedding()->set_features(8);
  EXPECT_EQ(CheckFields(layer).message(),
            "embedding.initial_weight.constant is nan; must be finite");
}

// A field of a type with a rule.
struct Mistake {
  FieldDescriptorProto::Type type;
  FieldRule rule;
};

FieldRule Rule(const std::string& bound, double value) {
  FieldRule rule;
  rule.GetReflection()->SetDouble(
      &rule, FieldRule::descriptor()->FindFieldByName(bound), value);
  return rule;
}

FieldRule Rule(const std::string& low, double low_value,
               const std::string& high, double high_value) {
  FieldRule rule = Rule(low, low_value);
  rule.MergeFrom(Rule(high, high_value));
  return rule;
}

TEST(FieldRules, MistakesAreFound) {
  FieldRule texts;
  texts.add_one_of("fp32");
  const Mistake mistakes[] = {
      {FieldDescriptorProto::TYPE_INT32, Rule("min", 2, "max", 1)},
      {FieldDescriptorProto::TYPE_DOUBLE, Rule("above", 1, "below", 1)},
      {FieldDescriptorProto::TYPE_DOUBLE, Rule("min", 1, "above", 1)},
      {FieldDescriptorProto::TYPE_INT64, Rule("min", 0.5)},
      {FieldDescriptorProto::TYPE_INT64, Rule("max", 9e18)},
      {FieldDescriptorProto::TYPE_INT32, FieldRule()},
      {FieldDescriptorProto::TYPE_STRING, Rule("min", 1)},
      {FieldDescriptorProto::TYPE_BOOL, Rule("min", 1)},
      {FieldDescriptorProto::TYPE_INT32, texts},
  };
  for (const Mistake& mistake : mistakes) {
    FileDescriptorProto file;
    file.set_name("mistake.proto");
    auto* const message = file.add_message_type();
    message->set_name("Mistaken");
    FieldDescriptorProto* const field = message->add_field();
    field->set_name("field");
    field->set_number(1);
    field->set_label(FieldDescriptorProto::LABEL_OPTIONAL);
    field->set_type(mistake.type);
    *field->mutable_options()->MutableExtension(must_be) = mistake.rule;
    DescriptorPool pool;
    const auto* const built = pool.BuildFile(file);
    ASSERT_NE(built, nullptr);
    EXPECT_NE(FaultOf(*built->message_type(0)->field(0)), "")
        << mistake.rule.ShortDebugString();
  }
}

}  // namespace
}  // namespace ps
