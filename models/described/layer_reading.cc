#include "models/described/layer_reading.h"

#include "absl/strings/str_cat.h"

namespace ps {

void LayerReading::Wrong(const std::string& field, const std::string& value,
                         const std::string& rule) const {
  network->problems->Add(
      absl::StrCat(path, field.empty() ? "" : ".", field, " (\"", name, "\")"),
      value, rule);
}

void LayerReading::WrongInput(const std::string& rule) const {
  network->problems->Add(
      absl::StrCat("the input of ", path, " (\"", name, "\")"), ToString(input),
      rule);
}

bool LayerReading::CheckKind(LayerShape::Kind kind) const {
  if (input.is(kind) || input.is(LayerShape::Kind::kUnknown)) return true;
  switch (kind) {
    case LayerShape::Kind::kUnknown:
      break;
    case LayerShape::Kind::kTokens:
      WrongInput(
          "must be the words or characters of a data set of text, [steps, "
          "batch]: an embedding is the first layer");
      break;
    case LayerShape::Kind::kSequence:
      WrongInput(input.is(LayerShape::Kind::kTokens)
                     ? "must be [steps, batch, features]: an embedding makes "
                       "it from words or characters"
                     : "must be a sequence, [steps, batch, features]");
      break;
    case LayerShape::Kind::kFeatures:
      WrongInput("must be [batch, features]");
      break;
    case LayerShape::Kind::kImages:
      WrongInput("must be images, [batch, channels, height, width]");
      break;
  }
  return false;
}

Initializer ReadInitialValues(const LayerReading& layer,
                              const std::string& field,
                              const InitialValuesConfig& config,
                              const Fans& fans, const Initializer& otherwise) {
  switch (config.values_case()) {
    case InitialValuesConfig::VALUES_NOT_SET:
      break;
    case InitialValuesConfig::kConstant:
      return Initializer::Constant(config.constant());
    case InitialValuesConfig::kUniform:
      return Initializer::Uniform(config.uniform());
    case InitialValuesConfig::kNormal:
      return Initializer::Normal(config.normal());
    case InitialValuesConfig::kHeNormal: {
      const bool in = config.he_normal() == InitialValuesConfig::FAN_IN;
      if (fans.out == 0) {
        layer.Wrong(absl::StrCat(field, ".he_normal"),
                    InitialValuesConfig::Fan_Name(config.he_normal()),
                    "is not possible here; use constant, uniform or normal");
      }
      return Initializer::HeNormal(in ? fans.in : fans.out);
    }
  }
  return otherwise;
}

}  // namespace ps
