#include "data/phrase_text.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/random.h"

namespace ps {
namespace {

using Words = absl::Span<const char* const>;

// The words of sentences on one subject. A noun's plural and a verb's singular
// are the word with an s.
struct Subject {
  Words who;
  Words does;
  Words what;
  Words kinds;  // Adjectives for `what`.
  Words where;
};

constexpr const char* kFarmers[] = {"farmer", "shepherd", "miller", "daughter",
                                    "neighbor"};
constexpr const char* kFarmVerbs[] = {"feed", "milk", "find", "lead", "call"};
constexpr const char* kAnimals[] = {"cow", "goat", "hen", "lamb", "horse"};
constexpr const char* kAnimalKinds[] = {"brown", "young", "hungry", "gentle"};
constexpr const char* kFarmPlaces[] = {"behind the barn", "in the meadow",
                                       "near the old mill"};

constexpr const char* kSailors[] = {"sailor", "captain", "pilot", "diver",
                                    "fisher"};
constexpr const char* kSeaVerbs[] = {"steer", "repair", "paint", "load",
                                     "follow"};
constexpr const char* kVessels[] = {"boat", "barge", "raft", "canoe", "tanker"};
constexpr const char* kVesselKinds[] = {"leaky", "fast", "wooden", "small"};
constexpr const char* kSeaPlaces[] = {"across the bay", "in the harbor",
                                      "past the lighthouse"};

constexpr const char* kCooks[] = {"cook", "baker", "waiter", "guest", "chef"};
constexpr const char* kKitchenVerbs[] = {"taste", "serve", "burn", "order",
                                         "share"};
constexpr const char* kDishes[] = {"soup", "cake", "pie", "salad", "pancake"};
constexpr const char* kDishKinds[] = {"sweet", "cold", "salty", "fresh"};
constexpr const char* kKitchenPlaces[] = {"in the kitchen", "at the long table",
                                          "before noon"};

constexpr const char* kScholars[] = {"teacher", "student", "poet", "doctor",
                                     "painter"};
constexpr const char* kSchoolVerbs[] = {"read", "write", "recite", "explain",
                                        "forget"};
constexpr const char* kTexts[] = {"letter", "poem", "book", "riddle", "song"};
constexpr const char* kTextKinds[] = {"long", "strange", "famous", "short"};
constexpr const char* kSchoolPlaces[] = {"in the library", "under the lamp",
                                         "on the last page"};

const Subject kSubjects[] = {
    {kFarmers, kFarmVerbs, kAnimals, kAnimalKinds, kFarmPlaces},
    {kSailors, kSeaVerbs, kVessels, kVesselKinds, kSeaPlaces},
    {kCooks, kKitchenVerbs, kDishes, kDishKinds, kKitchenPlaces},
    {kScholars, kSchoolVerbs, kTexts, kTextKinds, kSchoolPlaces},
};

constexpr const char* kOne[] = {"the", "a", "this", "every"};
constexpr const char* kSeveral[] = {"the", "some", "these", "two"};
constexpr const char* kOften[] = {"often", "never", "always"};

const char* Choose(Words words, RandomStream* random) {
  return words[random->Below(words.size())];
}

// Appends a noun phrase such as "the brown cows", and returns whether it is
// singular.
bool AppendNoun(Words nouns, Words kinds, RandomStream* random,
                std::string* text) {
  const bool one = random->Below(2) == 0;
  absl::StrAppend(text, Choose(one ? Words(kOne) : Words(kSeveral), random),
                  " ");
  if (!kinds.empty() && random->Below(2) == 0) {
    absl::StrAppend(text, Choose(kinds, random), " ");
  }
  absl::StrAppend(text, Choose(nouns, random), one ? "" : "s");
  return one;
}

void AppendSentence(RandomStream* random, std::string* text) {
  const Subject& subject = kSubjects[random->Below(std::size(kSubjects))];
  const bool one = AppendNoun(subject.who, {}, random, text);
  if (random->Below(3) == 0) {
    absl::StrAppend(text, " ", Choose(kOften, random));
  }
  absl::StrAppend(text, " ", Choose(subject.does, random), one ? "s " : " ");
  AppendNoun(subject.what, subject.kinds, random, text);
  if (random->Below(2) == 0) {
    absl::StrAppend(text, " ", Choose(subject.where, random));
  }
  text->push_back('\n');
}

}  // namespace

std::string DrawSentences(uint64_t key, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    RandomStream random(RandomKey(key, static_cast<uint64_t>(i)));
    AppendSentence(&random, &text);
  }
  return text;
}

}  // namespace ps
